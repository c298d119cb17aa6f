package conv

import (
	"bytes"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Add reads the next frame. Frames must be added in the order they were sent in.
func (c *Conversation) Add(f wire.Frame) {
	if !f.Time.IsZero() {
		c.Now = f.Time
	}
	s := c.findStream(&f)
	if f.Kind != wire.Noise && f.Stream == 0 && f.Dir == wire.Received {
		c.noise.flush() // the lines before a message do not continue after it
	}
	switch f.Kind {
	case wire.Head:
		c.readHead(&f, s)
	case wire.Noise:
		if f.DecodeError != "" && s != nil {
			s.Open = 0 // the body may contain the response
		} else if f.Dir == wire.Received && s == nil {
			c.noise.add(f)
		}
	case wire.Closed:
		c.readClose(&f, s)
	case wire.Event:
		c.readEvent(&f, s)
	case wire.Body:
		c.readBody(&f, s)
	case wire.Stderr:
	}
}

// findStream returns the HTTP exchange of a frame, or nil over stdio.
func (c *Conversation) findStream(f *wire.Frame) *Stream {
	if f.Stream == 0 {
		return nil
	}
	c.HTTP = true
	key := streamKey{f.Conn, f.Stream}
	s, ok := c.tables.streams.Lookup(key)
	if !ok {
		// Without a head nothing shows that the exchange is not of the protocol.
		s = &Stream{Number: f.Stream, MCP: f.Kind != wire.Head}
		c.tables.streams.Put(key, s)
	}
	return s
}

// readHead reads the head of an HTTP request or response.
func (c *Conversation) readHead(f *wire.Frame, s *Stream) {
	if s == nil || f.HTTP == nil {
		return
	}
	if f.Dir == wire.Sent {
		s.Request = f.HTTP
		opensStream := f.HTTP.Method == "GET" && strings.Contains(f.HTTP.Field("Accept"), "text/event-stream")
		endsSession := f.HTTP.Method == "DELETE"
		s.MCP = s.MCP || opensStream || endsSession
		return
	}
	s.Response = f.HTTP
	s.Head = Spot{f.Conn, f.Seq}
	c.send(Event{Kind: OnHead, Frame: f, Stream: s, Call: s.Call, Rev: c.revOf(s)})
}

// readClose reads the end of a stream or of the connection.
func (c *Conversation) readClose(f *wire.Frame, s *Stream) {
	c.send(Event{Kind: OnClose, Frame: f, Stream: s, Rev: c.revOf(s)})
}

// readEvent reads a server-sent event, and the message in it.
func (c *Conversation) readEvent(f *wire.Frame, s *Stream) {
	if s == nil {
		return
	}
	s.Events++
	if f.SSE != nil {
		s.HasIDs = s.HasIDs || f.SSE.ID != nil
		s.HasRetry = s.HasRetry || f.SSE.Retry != nil
		c.SSE = c.SSE || f.SSE.Event == "endpoint"
	}
	c.send(Event{Kind: OnEvent, Frame: f, Stream: s, Rev: c.revOf(s)})
	if f.SSE.MayCarryMessage() && len(bytes.Trim(f.Raw, jsonraw.WhiteSpace)) > 0 {
		c.readMessage(f, s)
	}
	s.Last = f.Time
}

// readBody reads an HTTP body or a line of stdio. The body of an HTTP error may be something else than
// JSON-RPC, and the body of an authorization server always is.
func (c *Conversation) readBody(f *wire.Frame, s *Stream) {
	if s == nil { // a line of stdio is a message
		c.readMessage(f, s)
		return
	}
	isJSONRPC := bytes.Contains(f.Raw, []byte(`"jsonrpc"`))
	if f.Dir == wire.Sent {
		s.MCP = s.MCP || isJSONRPC
		if s.MCP {
			c.readMessage(f, s)
		} else {
			c.send(Event{Kind: OnOther, Frame: f, Stream: s, Value: f.Raw})
		}
		return
	}
	if !s.MCP {
		c.send(Event{Kind: OnOther, Frame: f, Stream: s, Value: f.Raw, Rev: c.revOf(s)})
		return
	}
	// Over HTTP+SSE the answer is in the stream, not in the response to a POST.
	isReceipt := c.SSE && s.Sent != wire.Invalid // s has a message from the client
	isErrorPage := s.Status() >= 300 && !isJSONRPC
	if !isReceipt && !isErrorPage {
		c.readMessage(f, s)
	}
}

// Limits of lines.
const (
	maxNoiseLines = 2000
	maxNoiseBytes = 256 << 10
)

// noiseLines collects lines that are not messages but may be the parts of one JSON value.
type noiseLines struct {
	pending []wire.Frame
	// emit reports a line that is no part of a JSON value or, if joined is set, the first line of a
	// value.
	emit func(f *wire.Frame, joined bool)
	// depth counts the open brackets, size the bytes.
	depth, size       int
	inString, escaped bool
}

// add adds a line, and emits the lines so far if they form a value or cannot become one.
func (l *noiseLines) add(f wire.Frame) {
	if len(l.pending) == 0 {
		text := bytes.TrimLeft(f.Raw, jsonraw.WhiteSpace)
		if !IsObject(text) && !IsArray(text) {
			l.emit(&f, false)
			return
		}
		*l = noiseLines{emit: l.emit}
	}
	l.pending = append(l.pending, f)
	l.countBrackets(f.Raw)
	l.size += len(f.Raw)
	switch {
	case l.size > maxNoiseBytes || len(l.pending) > maxNoiseLines:
		l.flush()
	case l.depth > 0:
		// More lines follow.
	case len(l.pending) > 1 && jsonraw.Valid(l.joined()) == nil:
		first := l.pending[0]
		l.pending = nil
		l.emit(&first, true)
	default:
		l.flush()
	}
}

// countBrackets updates depth for the brackets outside of strings.
func (l *noiseLines) countBrackets(raw []byte) {
	for _, b := range raw {
		switch {
		case l.escaped:
			l.escaped = false
		case l.inString:
			l.escaped = b == '\\'
			l.inString = b != '"'
		case b == '"':
			l.inString = true
		case b == '{' || b == '[':
			l.depth++
		case b == '}' || b == ']':
			l.depth--
		}
	}
}

// joined returns the pending lines as one text.
func (l *noiseLines) joined() []byte {
	var text []byte
	for _, line := range l.pending {
		text = append(text, line.Raw...)
		text = append(text, '\n')
	}
	return text
}

// flush reports the lines that do not form a JSON value.
func (l *noiseLines) flush() {
	pending := l.pending
	l.pending = nil
	for i := range pending {
		l.emit(&pending[i], false)
	}
}

// sendNoise emits the event for bytes that are no message. isJoined reports that f is the first of
// several lines that form one JSON value.
func (c *Conversation) sendNoise(f *wire.Frame, isJoined bool) {
	if len(bytes.TrimSpace(f.Raw)) > 0 {
		c.send(Event{Kind: OnNoise, Frame: f, Value: f.Raw, IsJoined: isJoined, Rev: c.revOf(nil)})
	}
}
