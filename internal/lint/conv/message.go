package conv

import (
	"bytes"
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// readMessage reads a message, or each message of a batch.
func (c *Conversation) readMessage(f *wire.Frame, s *Stream) {
	m := wire.ParseMessage(f.Raw)
	if f.Dir == wire.Sent {
		c.readSent(f, s, m)
		return
	}
	c.send(Event{Kind: OnFrame, Frame: f, Stream: s, Message: m, Rev: c.revOf(s), Value: f.Raw})
	if m.Kind != wire.Batch {
		c.readReceived(f, s, m)
		return
	}
	c.send(Event{Kind: OnBatch, Frame: f, Stream: s, Message: m, Rev: c.revOf(s)})
	for _, item := range m.Items {
		c.readReceived(f, s, item)
	}
}

// readSent reads a message of the client, or each message of a batch.
func (c *Conversation) readSent(f *wire.Frame, s *Stream, m *wire.Message) {
	if m.Kind == wire.Batch {
		for _, item := range m.Items {
			c.readSent(f, s, item)
		}
		return
	}
	c.LastSent = m.Kind
	if s != nil {
		s.Sent = m.Kind
	}
	e := Event{
		Kind:    OnSent,
		Method:  m.Method,
		Frame:   f,
		Stream:  s,
		Message: m,
		Rev:     c.Session,
		Value:   m.Params,
		Pointer: "/params",
	}
	switch {
	case m.Kind == wire.Request:
		e.Call = c.recordCall(f, s, m)
		e.Rev = e.Call.Rev
	case m.Method == "notifications/initialized":
		c.Initialized = true
	case m.Method == "notifications/cancelled":
		if call := c.CallWithID(Key(Inside(m.Params, "requestId"))); call != nil && call.Answers == 0 {
			call.CancelledAt = f.Seq
			call.Cancelled = f.Time
			e.Call = call
			c.closeCall(call)
		}
	}
	c.send(e)
}

// recordCall records a request of the client.
func (c *Conversation) recordCall(f *wire.Frame, s *Stream, m *wire.Message) *Call {
	call := &Call{
		Seq:    f.Seq,
		ID:     bytes.Clone(m.ID),
		Method: m.Method,
		Params: m.Params,
		Stream: s,
		Sent:   f.Time,
		Rev:    c.Session,
		key:    Key(m.ID),
	}
	for _, name := range []string{"name", "uri", "taskId"} {
		if text := TextInside(m.Params, name); text != "" && call.Name == "" {
			call.Name = text
		}
	}
	if version := ParseRev(TextInside(m.Params, "_meta", MetaPrefix+"protocolVersion")); version != Unknown {
		call.Rev = version
		call.StatesRevision = true
		c.lastOffered = version
	} else if c.Session == Unknown && s != nil {
		// A request without a revision in _meta is of an older revision, whatever its header says.
		call.Rev = min(ParseRev(s.Request.Field("MCP-Protocol-Version")), Rev20251125)
	}
	if token := Inside(m.Params, "_meta", "progressToken"); token != nil {
		call.Token = Key(token)
		c.tables.tokens.Put(call.Token, call)
	}
	c.Opened = c.Opened || mcp.IsOpening(m.Method)
	if m.Method == "initialize" { // a new session
		c.Client.declare(Inside(m.Params, "capabilities"), TextInside(m.Params, "protocolVersion"))
		c.lastOffered = ParseRev(c.Client.Version)
		c.Server = Peer{}
		c.Session = Unknown
		c.Initialized = false
	}
	if s != nil {
		s.Open++
		if s.Call == nil {
			s.Call = call
		}
	}
	c.tables.calls.Put(call.key, call)
	c.tables.openCalls++
	return call
}

// closeCall records that a request has stopped waiting for its response.
func (c *Conversation) closeCall(call *Call) {
	c.tables.openCalls--
	if call.Stream != nil {
		call.Stream.Open--
	}
}

// findCall returns the request of a response, or nil if it is unknown. It prefers a request in the
// same HTTP exchange, because some clients use one id for all requests. A response without an id
// belongs to the first request of its exchange if that has no response.
func (c *Conversation) findCall(m *wire.Message, s *Stream) *Call {
	key := Key(m.ID)
	if s != nil && s.Call != nil && s.Call.key == key {
		return s.Call
	}
	call := c.CallWithID(key)
	if call != nil && c.mayAnswer(s, call) {
		return call
	}
	hasID := m.ID != nil && string(m.ID) != "null"
	if !hasID && s != nil && s.Call != nil && s.Call.Answers == 0 {
		return s.Call
	}
	return nil
}

// mayAnswer reports whether a stream can have the response to a request of another exchange: over
// HTTP+SSE, on a stream that was opened by GET, or if the request of the stream was not recorded.
// Over stdio (s is nil) it is always true.
func (c *Conversation) mayAnswer(s *Stream, call *Call) bool {
	return s == nil || call.Stream == s || c.SSE || s.Request == nil || s.IsGet()
}

// CallWithOtherIDType returns the request whose id equals a response's id except for the JSON type, or nil.
func (c *Conversation) CallWithOtherIDType(id json.RawMessage) *Call {
	return c.CallWithID(keyInOtherType(id))
}

// isReply reports whether a message is a result or an error, also an invalid one.
func isReply(m *wire.Message) bool {
	if m.Kind == wire.Invalid {
		return m.Method == "" && (m.Result != nil || m.Error != nil)
	}
	return m.Kind == wire.Response || m.Kind == wire.ErrorResponse
}

// readReceived reads a message of the server that is no batch.
func (c *Conversation) readReceived(f *wire.Frame, s *Stream, m *wire.Message) {
	e := Event{Conversation: c, Frame: f, Stream: s, Message: m, Method: m.Method}
	if s != nil {
		e.Call = s.Call
	}
	if isReply(m) {
		c.readReply(e)
		return
	}
	e.Rev = c.revOf(s)
	e.Value = m.Params
	e.Pointer = "/params"
	if m.Kind == wire.Notification && s == nil { // over stdio only the notification's members name its request
		e.Call = c.CallWithToken(Key(Inside(m.Params, "progressToken")))
		if id := Inside(m.Params, "_meta", MetaPrefix+"subscriptionId"); id != nil {
			e.Call = c.CallWithID(Key(id))
		}
		if e.Call != nil && e.Call.StatesRevision && c.PerRequest {
			e.Rev = e.Call.Rev
		}
	}
	e.Members, _ = m.ParamMembers()
	e.Kind = OnMessage
	c.send(e)
	switch m.Kind {
	case wire.Notification:
		e.Kind = OnNotice
		c.send(e)
	case wire.Request:
		// OnAsk is for checks of the request as a message. OnQuestion, which sendQuestion emits, is for
		// checks of its question: an input_required result has questions too, which are no JSON-RPC
		// requests.
		e.Kind = OnAsk
		c.send(e)
		sendQuestion(e, m.Method, e.Value, e.Pointer)
	default:
	}
	e.Kind = OnDone
	c.send(e)
}

// readReply reads a result or an error, and emits the events of the message. For the result of a
// known request it then emits the events of its parts, and OnDone last.
func (c *Conversation) readReply(e Event) {
	m := e.Message
	s := e.Stream
	e.Call = c.findCall(m, s)
	e.Rev = c.revOfReply(e.Call, m, s)
	e.Method = ""
	if e.Call != nil {
		e.Method = e.Call.Method
		if m.Kind == wire.Response {
			c.recordDeclarations(e.Call, m)
		}
	}
	e.Value = m.Result
	e.Pointer = "/result"
	e.Members, _ = m.ResultMembers()
	for _, kind := range []Kind{OnMessage, OnReply} {
		e.Kind = kind
		c.send(e)
	}
	if m.Error != nil {
		failure := e
		failure.Kind = OnError
		failure.Value = m.Error.Raw
		failure.Pointer = "/error"
		failure.Members = nil
		c.send(failure)
	} else if e.Call != nil && m.Kind == wire.Response {
		// Only the result of a known request has parts with a known meaning.
		e.Kind = OnResult
		e.Subject = e.Method
		if e.Call.Name != "" {
			e.Subject += " " + e.Call.Name
		}
		c.send(e)
		sendParts(e)
		e.Kind = OnDone
		c.send(e)
	}
	if s != nil {
		s.Answered = e.Frame.Time
	}
	if call := e.Call; call != nil {
		call.Answers++
		if call.Answers == 1 && call.CancelledAt == 0 { // a cancelled request is closed already
			c.closeCall(call)
		}
		call.dropParams()
	}
}

// recordDeclarations records what the server declares in a result.
func (c *Conversation) recordDeclarations(call *Call, m *wire.Message) {
	switch call.Method {
	case "initialize":
		version := TextInside(m.Result, "protocolVersion")
		c.Session = min(ParseRev(version), Rev20251125)
		c.Server.declare(Inside(m.Result, "capabilities"), version)
	case "server/discover":
		// A server of an open session keeps what it declared there, unless it supports 2026-07-28.
		if c.PerRequest || c.Session == Unknown {
			if caps, _ := jsonraw.Object(Inside(m.Result, "capabilities")); caps != nil {
				c.Server.declare(Inside(m.Result, "capabilities"), c.Server.Version)
			}
		}
	}
}
