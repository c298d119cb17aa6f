// Package mcpserver is the server's side of the protocol: Streamable HTTP and stdio, in both eras, with
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

// A Handler answers what clients send. Its methods may be called from several goroutines.
type Handler interface {
	// Prepare decides how a request is answered. For one client it is called in the order in which the requests
	// came, before any of them is run.
	Prepare(c Caller, m *wire.Message) Job
	// Notified takes a notification of a client in a session, and its cancellations too, which are carried out already.
	Notified(c Caller, m *wire.Message)
}

// A Job is how one request is answered.
type Job struct {
	// Run gives the response, nil where none is to be sent; send sends what comes before it.
	Run func(ctx context.Context, send func([]byte)) []byte
	// Waits is set where Run takes time or needs the client.
	Waits bool
	// After is what is done when the response was sent; it may be nil.
	After func()
}

// Replying is a Job whose response is known.
func Replying(raw []byte) Job {
	return Job{Run: func(context.Context, func([]byte)) []byte { return raw }}
}

// Options say how a Server serves.
type Options struct {
	// Name begins what a refused request is told: "mcpc mock".
	Name string
	Eras bridge.Eras
	// SessionID makes a new one; it is for HTTP only, as is MostSessions: where there are more sessions, the one that
	// was used least recently ends.
	SessionID    func() string
	MostSessions int
	// Dropped is called when a message was left out because the client does not read its GET stream.
	Dropped func()
	// Admit gives the status with which a request is refused unread, and why; 0 admits it. It may be nil.
	Admit func(r *http.Request) (status int, reason string)
}

// A Server serves clients over Streamable HTTP or stdio.
type Server struct {
	Options
	h Handler
}

// New returns a Server whose requests h answers.
func New(h Handler, o Options) *Server { return &Server{Options: o, h: h} }

// A Caller is what is known of the sender of one request.
type Caller struct {
	Stateless    bool
	Revision     string
	Capabilities json.RawMessage
	// Level is that of the log messages it wants: "" is none where requests stand alone, all in a session.
	Level string
	// Session is the conversation; nil for requests over HTTP that stand alone.
	Session *Session
	// Over is closed when no more comes from the client; nil where only the request's context says so.
	Over <-chan struct{}
}

// Declares reports a capability of the client; "" is one that every client has.
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

// standsAlone reports a message that says for itself in which revision it is.
func standsAlone(m *wire.Message) bool {
	return m.Method == "server/discover" || m.Method == "subscriptions/listen" ||
		jsonraw.First(jsonraw.First(m.Params, "_meta"), bridge.MetaVersion) != nil
}

// callerOf is the sender of a request that stands alone.
func callerOf(m *wire.Message) Caller {
	meta := jsonraw.First(m.Params, "_meta")
	return Caller{
		Stateless:    true,
		Revision:     jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaVersion)),
		Capabilities: jsonraw.First(meta, bridge.MetaCapabilities),
		Level:        jsonraw.TextOrRaw(jsonraw.First(meta, bridge.MetaLogLevel)),
	}
}

// refusal is the error for a request that lacks what each has to have; nil accepts it.
func (s *Server) refusal(c Caller, m *wire.Message) json.RawMessage {
	switch {
	case !c.Stateless && !s.Eras.Sessions() && m.Method == "initialize":
		return s.OtherVersion(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
	case !c.Stateless && !s.Eras.Sessions():
		return Failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	case !c.Stateless:
		return nil
	case c.Revision == "":
		return Failure(-32602, "_meta lacks "+bridge.MetaVersion, nil)
	case c.Revision != bridge.ModernRevision:
		return s.OtherVersion(c.Revision)
	case c.Capabilities == nil:
		return Failure(-32602, "_meta lacks "+bridge.MetaCapabilities, nil)
	}
	return nil
}

// OtherVersion is the error for a revision that is not served.
func (s *Server) OtherVersion(asked string) json.RawMessage {
	supported := jsonraw.ListOf(s.Eras.Revisions(), func(v string) []byte { return jsonraw.Quote(v) })
	data := jsonraw.With(jsonraw.With(nil, "supported", supported), "requested", jsonraw.Quote(asked))
	return Failure(-32022, "Unsupported protocol version", data)
}

// Opens opens the session of the caller with an initialize, and gives the revision; the response is an error where
// the caller has none.
func (s *Server) Opens(c Caller, m *wire.Message) (revision string, refused []byte) {
	asked := jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion"))
	if c.Session == nil {
		return "", ComposeError(m.ID, s.OtherVersion(asked))
	}
	revision = bridge.Negotiated(asked)
	c.Session.Opened(revision, m.Params)
	return revision, nil
}

// ComposeError gives the response with an error whose bytes are kept.
func ComposeError(id, failed json.RawMessage) []byte {
	var b jsonraw.Builder
	b.Text("jsonrpc", "2.0")
	b.Raw("id", id)
	b.Raw("error", jsonraw.OneLine(failed))
	return b.Bytes()
}

// Failure is an error object; data may be nil.
func Failure(code int64, message string, data json.RawMessage) json.RawMessage {
	var b jsonraw.Builder
	b.Number("code", code)
	b.Text("message", message)
	b.Raw("data", data)
	return b.Bytes()
}
