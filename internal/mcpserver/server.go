// Package mcpserver implements the server side of MCP over Streamable HTTP and stdio, in both eras:
// sessions, streams, cancellation and subscriptions. A Handler answers the requests.
package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/wire"
)

// A Handler answers the messages of clients. Its methods may be called from several goroutines.
type Handler interface {
	// Prepare selects the response to a request. For one client, it is called in the order that the
	// requests arrive in, before any of them runs.
	Prepare(c Caller, m *wire.Message) Job
	// Notified receives a notification of a client in a session. A cancellation has already been
	// carried out.
	Notified(c Caller, m *wire.Message)
}

// A Job produces the response to one request.
type Job struct {
	// Run returns the response, or nil if no response must be sent. It passes the messages that
	// precede the response to send.
	Run func(ctx context.Context, send func([]byte)) []byte
	// MayWait is set if Run takes time or needs the client.
	MayWait bool
	// After runs after the response was sent. It may be nil.
	After func()
}

// Replying returns a Job that sends raw as the response.
func Replying(raw []byte) Job {
	return Job{Run: func(context.Context, func([]byte)) []byte { return raw }}
}

// Options configure a Server.
type Options struct {
	// Name begins the text of refusals: "mcpc mock".
	Name string
	Eras bridge.Eras
	// SessionID returns a new session id. MaxSessions is the number of sessions that are kept;
	// beyond it, the least recently used session ends. Both are for HTTP only.
	SessionID   func() string
	MaxSessions int
	// Dropped is called when a message was dropped because the client does not read its GET stream.
	Dropped func()
	// ServesSSE is set if clients may use the transport HTTP+SSE, too.
	ServesSSE bool
	// Admit returns the status and the reason to refuse a request with before its body is read;
	// status 0 admits the request. It may be nil.
	Admit func(r *http.Request) (status int, reason string)
}

// A Server serves clients over Streamable HTTP or stdio.
type Server struct {
	Options
	h Handler
}

// New returns a Server that answers requests with h.
func New(h Handler, o Options) *Server { return &Server{Options: o, h: h} }

// A Caller describes the sender of one request.
type Caller struct {
	Stateless    bool
	Revision     string
	Capabilities json.RawMessage
	// Level is the lowest level of the log messages that the client wants. "" means no log messages
	// for a stateless client, and all log messages in a session.
	Level string
	// Session is nil in stateless requests over HTTP.
	Session *Session
	// Over is closed when the client has disconnected. It is nil if only the context of the request
	// reports that.
	Over <-chan struct{}
}

// Declares reports whether the client declares a capability ("elicitation") or a member of one
// ("extensions", "x"). It reports true if a name is "": no capability is needed then.
func (c Caller) Declares(names ...string) bool {
	value := c.Capabilities
	for _, name := range names {
		if name == "" {
			return true
		}
		value = jsonraw.First(value, name)
	}
	return value != nil
}

// standsAlone reports whether a message needs no session, because it states its revision itself.
func standsAlone(m *wire.Message) bool {
	return m.Method == "server/discover" || m.Method == "subscriptions/listen" ||
		jsonraw.First(jsonraw.First(m.Params, "_meta"), bridge.MetaVersion) != nil
}

// statelessCaller returns the sender of a stateless request.
func statelessCaller(m *wire.Message) Caller {
	meta := jsonraw.First(m.Params, "_meta")
	return Caller{
		Stateless:    true,
		Revision:     jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaVersion)),
		Capabilities: jsonraw.First(meta, bridge.MetaCapabilities),
		Level:        jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaLogLevel)),
	}
}

// checkCaller returns the error object for a request of an era that is not served, or for a
// stateless request that lacks a required member or has an unsupported revision. It returns nil if
// the request is valid.
func (s *Server) checkCaller(c Caller, m *wire.Message) json.RawMessage {
	if !c.Stateless {
		if s.Eras.HasSessions() {
			return nil
		}
		if m.Method == "initialize" {
			return s.UnsupportedVersion(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
		}
		return Failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	}
	if c.Revision == "" {
		return Failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	}
	if c.Revision != bridge.ModernRevision {
		return s.UnsupportedVersion(c.Revision)
	}
	if c.Capabilities == nil {
		return Failure(-32602, "_meta lacks "+bridge.MetaCapabilities, nil)
	}
	return nil
}

// UnsupportedVersion returns the error for a revision that is not served.
func (s *Server) UnsupportedVersion(requested string) json.RawMessage {
	supported := jsonraw.ListOf(s.Eras.Revisions(), func(v string) []byte { return jsonraw.Quote(v) })
	data := jsonraw.With(jsonraw.With(nil, "supported", supported), "requested", jsonraw.Quote(requested))
	return Failure(-32022, "Unsupported protocol version", data)
}

// OpenSession handles initialize: it opens the caller's session and returns the negotiated revision. If
// the caller has no session, it returns the error response.
func (s *Server) OpenSession(c Caller, m *wire.Message) (revision string, refused []byte) {
	requested := jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion"))
	if c.Session == nil {
		return "", ComposeError(m.ID, s.UnsupportedVersion(requested))
	}
	revision = bridge.NegotiateRevision(requested)
	c.Session.Open(revision, m.Params)
	return revision, nil
}

// ComposeError returns an error response with the bytes of an error object.
func ComposeError(id, failed json.RawMessage) []byte {
	var b jsonraw.Builder
	b.Text("jsonrpc", "2.0")
	b.Raw("id", id)
	b.Raw("error", jsonraw.OneLine(failed))
	return b.Bytes()
}

// Failure returns an error object. data may be nil.
func Failure(code int64, message string, data json.RawMessage) json.RawMessage {
	var b jsonraw.Builder
	b.Number("code", code)
	b.Text("message", message)
	b.Raw("data", data)
	return b.Bytes()
}
