package conv

import (
	"encoding/json"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Call is a request of the client.
type Call struct {
	Seq    uint64
	ID     json.RawMessage
	Method string
	// Name is params.name, params.uri or params.taskId.
	Name string
	// Rev is the revision that the request states or, without a statement, that of the
	// session. Stamped is set where it states one in _meta.
	Rev     Rev
	Stamped bool
	// Token is the key of its progress token, "" without one.
	Token string
	// Params are kept until the answer.
	Params json.RawMessage
	Stream *Stream
	Sent   time.Time
	// CancelledAt is the frame of the client's cancellation, Cancelled its time.
	CancelledAt uint64
	Cancelled   time.Time
	// Answers counts the responses.
	Answers int
	key     string
}

// Meta gives a member of the request's _meta, or nil.
func (c *Call) Meta(name string) json.RawMessage {
	if c == nil {
		return nil
	}
	return Inside(c.Params, "_meta", name)
}

// shrink forgets the params but for _meta, which later messages are compared with.
func (c *Call) shrink() {
	if c.Method == "subscriptions/listen" || c.Params == nil {
		return
	}
	if meta := Inside(c.Params, "_meta"); meta != nil {
		c.Params = append(append([]byte(`{"_meta":`), meta...), '}')
		return
	}
	c.Params = nil
}

// MetaPrefix begins the names that the protocol has in _meta.
const MetaPrefix = "io.modelcontextprotocol/"

// Key is the same for two ids or tokens that are equal in type and value; "" for nil.
func Key(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return `"` + text
	}
	if jsonraw.IsNumber(id) {
		return jsonraw.PlainNumber(string(id))
	}
	return string(id)
}

// otherType is the key of the same id in the other type: 1 for "1".
func otherType(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		if jsonraw.IsNumber([]byte(text)) {
			return jsonraw.PlainNumber(text)
		}
		return ""
	}
	return `"` + string(id)
}

// A Stream is an HTTP request and what came back for it.
type Stream struct {
	Number   int
	Request  *wire.HTTPHead
	Response *wire.HTTPHead
	// Head is the frame of the response's head.
	Head Spot
	// MCP is set where it is an exchange of the protocol, and not one with an
	// authorization server.
	MCP bool
	// Sent is the kind of the message that the client sent: Request, Notification,
	// Response; Invalid where it sent none, as with GET.
	Sent wire.MessageKind
	// Call is the first request in it.
	Call *Call
	// Answered is when the last response came, Last when the last event did.
	Answered, Last time.Time
	// Open counts the requests that wait for their response.
	Open int
	// Events counts the server-sent events, comments among them.
	Events int
	// IDs and Retry are set where an event had an id or a reconnection time.
	IDs, Retry bool
}

// EventStream reports a response that is an event stream.
func (s *Stream) EventStream() bool {
	return s != nil && s.Response != nil && wire.MediaType(s.Response.Field("Content-Type")) == "text/event-stream"
}

// Status is that of the response, 0 without one.
func (s *Stream) Status() int {
	if s == nil || s.Response == nil {
		return 0
	}
	return s.Response.Status
}

// Session is the id of the session to which the request belongs, "" without one.
func (s *Stream) Session() string {
	if s == nil {
		return ""
	}
	return s.Request.Field("Mcp-Session-Id")
}

// IsGet reports a stream that the client opened by a GET.
func (s *Stream) IsGet() bool { return s != nil && s.Request != nil && s.Request.Method == "GET" }
