package conv

import (
	"bytes"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Add reads the next frame. Frames must be added in the order in which they were sent.
func (c *Conversation) Add(f wire.Frame) {
	if !f.Time.IsZero() {
		c.Now = f.Time
	}
	s := c.findStream(&f)
	if f.Kind != wire.Noise && f.Stream == 0 && f.Dir == wire.Received {
		c.noise.flush()
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

// findStream returns the HTTP exchange of a frame, or nil for stdio.
func (c *Conversation) findStream(f *wire.Frame) *Stream {
	if f.Stream == 0 {
		return nil
	}
	c.HTTP = true
	key := streamKey{f.Conn, f.Stream}
	s, ok := c.tables.streams.Lookup(key)
	if !ok {
		s = &Stream{Number: f.Stream, MCP: f.Kind != wire.Head}
		c.tables.streams.Put(key, s)
	}
	return s
}

func (c *Conversation) readHead(f *wire.Frame, s *Stream) {
	if s == nil || f.HTTP == nil {
		return
	}
	if f.Dir == wire.Sent {
		s.Request = f.HTTP
		s.MCP = s.MCP || f.HTTP.Method == "GET" && strings.Contains(f.HTTP.Field("Accept"), "text/event-stream") ||
			f.HTTP.Method == "DELETE"
		return
	}
	s.Response = f.HTTP
	s.Head = Spot{f.Conn, f.Seq}
	c.send(Event{Kind: OnHead, Frame: f, Stream: s, Call: s.Call, Rev: c.revOf(s)})
}

func (c *Conversation) readClose(f *wire.Frame, s *Stream) {
	c.send(Event{Kind: OnClose, Frame: f, Stream: s, Rev: c.revOf(s)})
}

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
	if f.SSE.MayCarry() && len(bytes.Trim(f.Raw, jsonraw.WhiteSpace)) > 0 {
		c.readMessage(f, s)
	}
	s.Last = f.Time
}

// readBody reads an HTTP body or a line of stdio. The body of an HTTP error may be something else than
// JSON-RPC, and the body of an authorization server always is.
func (c *Conversation) readBody(f *wire.Frame, s *Stream) {
	switch {
	case s == nil: // a line of stdio is a message
	case f.Dir == wire.Sent:
		s.MCP = s.MCP || bytes.Contains(f.Raw, []byte(`"jsonrpc"`))
		if !s.MCP {
			c.send(Event{Kind: OnOther, Frame: f, Stream: s, Value: f.Raw})
			return
		}
	case !s.MCP:
		c.send(Event{Kind: OnOther, Frame: f, Stream: s, Value: f.Raw, Rev: c.revOf(s)})
		return
	case c.SSE && s.Sent != wire.Invalid, // over HTTP+SSE the answer is in the stream, not in the response to a POST
		s.Status() >= 300 && !bytes.Contains(f.Raw, []byte(`"jsonrpc"`)):
		return
	}
	c.readMessage(f, s)
}

// Limits of lines.
const (
	maxNoiseLines = 2000
	maxNoiseBytes = 256 << 10
)

// noiseLines collects lines that are not messages but may form one JSON value together.
type noiseLines struct {
	pending []wire.Frame
	// emit reports a line that is no part of a JSON value or, if joined is set, the first line of a
	// value.
	emit func(f *wire.Frame, joined bool)
	// depth counts the open brackets, size the bytes.
	depth, size       int
	inString, escaped bool
}

func (l *noiseLines) add(f wire.Frame) {
	if len(l.pending) == 0 {
		first := bytes.TrimLeft(f.Raw, jsonraw.WhiteSpace)
		if len(first) == 0 || first[0] != '{' && first[0] != '[' {
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
	case l.depth > 0: // more lines follow
	case len(l.pending) > 1 && jsonraw.Valid(l.joined()) == nil:
		head := l.pending[0]
		l.pending = nil
		l.emit(&head, true)
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

func (l *noiseLines) joined() (whole []byte) {
	for _, line := range l.pending {
		whole = append(append(whole, line.Raw...), '\n')
	}
	return whole
}

// flush reports the lines that do not form a JSON value.
func (l *noiseLines) flush() {
	all := l.pending
	l.pending = nil
	for i := range all {
		l.emit(&all[i], false)
	}
}

func (c *Conversation) sendNoise(f *wire.Frame, joined bool) {
	if len(bytes.TrimSpace(f.Raw)) > 0 {
		c.send(Event{Kind: OnNoise, Frame: f, Value: f.Raw, IsJoined: joined, Rev: c.revOf(nil)})
	}
}
