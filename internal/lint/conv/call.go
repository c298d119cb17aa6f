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
	// Rev is the revision that the request states, or else the session's. StatesRevision is set
	// if the request states one in _meta.
	Rev            Rev
	StatesRevision bool
	// Token is the key of the progress token, or "".
	Token string
	// Params are kept until the response.
	Params json.RawMessage
	Stream *Stream
	Sent   time.Time
	// CancelledAt is the frame of the client's cancellation and Cancelled its time.
	CancelledAt uint64
	Cancelled   time.Time
	// Answers counts the responses.
	Answers int
	key     string
}

// Meta returns a member of the request's _meta, or nil.
func (c *Call) Meta(name string) json.RawMessage {
	if c == nil {
		return nil
	}
	return Inside(c.Params, "_meta", name)
}

// dropParams drops the params except for _meta, which later messages are compared with.
func (c *Call) dropParams() {
	if c.Method == "subscriptions/listen" || c.Params == nil {
		return // the filter of a subscription is compared with its notifications
	}
	if meta := Inside(c.Params, "_meta"); meta != nil {
		c.Params = append(append([]byte(`{"_meta":`), meta...), '}')
		return
	}
	c.Params = nil
}

// MetaPrefix is the prefix of the protocol's names in _meta.
const MetaPrefix = "io.modelcontextprotocol/"

// Key returns the same text for ids or tokens with the same type and value, and "" if id is nil.
func Key(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		return `"` + text
	}
	if jsonraw.IsNumber(id) {
		return jsonraw.PlainNumber(string(id))
	}
	return string(id)
}

// keyInOtherType returns the key of the id in the other JSON type: the number 1 for "1".
func keyInOtherType(id json.RawMessage) string {
	if text, ok := jsonraw.Text(id); ok {
		if jsonraw.IsNumber([]byte(text)) {
			return jsonraw.PlainNumber(text)
		}
		return ""
	}
	return `"` + string(id)
}

// A Stream is an HTTP request and its response.
type Stream struct {
	Number   int
	Request  *wire.HTTPHead
	Response *wire.HTTPHead
	// Head is the frame of the response's head.
	Head Spot
	// MCP is set for an exchange of the protocol, as opposed to one with an authorization server.
	MCP bool
	// Sent is the kind of the message in the request: Request, Notification or Response, or Invalid
	// for a request without a message, such as GET.
	Sent wire.MessageKind
	// Call is the first request in it.
	Call *Call
	// Answered is the time of the last response, Last the time of the last event.
	Answered, Last time.Time
	// Open counts the requests without a response.
	Open int
	// Events counts the server-sent events, including comments.
	Events int
	// HasIDs is set after an event with an id, Retry after one with a reconnection time.
	HasIDs, HasRetry bool
}

// IsEventStream reports whether the response is an event stream.
func (s *Stream) IsEventStream() bool {
	return s != nil && s.Response != nil && wire.MediaType(s.Response.Field("Content-Type")) == "text/event-stream"
}

// Status returns the status of the response, or 0.
func (s *Stream) Status() int {
	if s == nil || s.Response == nil {
		return 0
	}
	return s.Response.Status
}

// Session returns the session id in the request, or "".
func (s *Stream) Session() string {
	if s == nil {
		return ""
	}
	return s.Request.Field("Mcp-Session-Id")
}

// IsGet reports whether the client opened the stream by a GET.
func (s *Stream) IsGet() bool { return s != nil && s.Request != nil && s.Request.Method == "GET" }
