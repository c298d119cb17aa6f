package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/loopback"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// An endpoint serves Streamable HTTP, and HTTP+SSE if Options.ServesSSE is set.
type endpoint struct {
	*Server
	ctx context.Context

	mu sync.Mutex
	// sessions maps ids to sessions; order has the ids, the least recently used one first.
	sessions map[string]*httpSession
	order    []string
	// sseClients maps ids to the inputs of the clients of HTTP+SSE.
	sseClients map[string]*io.PipeWriter
}

// An httpSession is a session with the messages for its GET stream.
type httpSession struct {
	*Session
	pushed chan []byte
}

// Handler returns a handler that serves Streamable HTTP, at whatever path it is mounted on, until
// ctx is done. It accepts only requests from this machine.
func (s *Server) Handler(ctx context.Context) http.Handler {
	e := &endpoint{
		Server: s, ctx: ctx, sessions: map[string]*httpSession{}, sseClients: map[string]*io.PipeWriter{},
	}
	return http.HandlerFunc(e.serve)
}

// serve answers one HTTP request: a POST with messages, a GET for the stream of a session, a DELETE
// that ends a session, or a GET that opens a session of HTTP+SSE. The stateless era has no sessions, and
// accepts POST only.
func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if reason := loopback.RejectionReason(r.Host, r.Header); reason != "" {
		http.Error(w, e.Name+": "+reason, http.StatusForbidden)
		return
	}
	if e.Admit != nil {
		if status, reason := e.Admit(r); status != 0 {
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, e.Name+": "+reason, status)
			return
		}
	}
	namesSession := e.Eras.HasSessions() && r.Header.Get("Mcp-Session-Id") != ""
	if client := e.findSSE(r); client != nil {
		e.takeSSE(w, r, client)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		e.post(w, r)
	case r.Method == http.MethodGet && namesSession:
		e.servePushed(w, r)
	case e.opensSSE(r):
		e.serveSSE(w, r)
	case r.Method == http.MethodDelete && namesSession:
		if s := e.findSession(w, r); s != nil {
			e.endSession(s.id)
			w.WriteHeader(http.StatusOK)
		}
	default:
		w.Header().Set("Allow", "POST")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// post answers a POST with one message or a batch.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if wire.MediaType(r.Header.Get("Content-Type")) != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, nil, Failure(-32600, "Content-Type must be application/json", nil))
		return
	}
	acceptsBoth := strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
	if !acceptsBoth && !strings.Contains(accept, "*/*") {
		refuse(w, http.StatusNotAcceptable, nil,
			Failure(-32600, "Accept must list application/json and text/event-stream", nil))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		if _, isTooLarge := errors.AsType[*http.MaxBytesError](err); isTooLarge {
			refuse(w, http.StatusRequestEntityTooLarge, nil, Failure(-32600, "the message is too large", nil))
		} else {
			refuse(w, http.StatusBadRequest, nil, Failure(-32700, "the body of the request cannot be read", nil))
		}
		return
	}
	m := wire.ParseMessage(body)
	switch {
	case jsonraw.Valid(body) != nil:
		refuse(w, http.StatusBadRequest, nil, Failure(-32700, "Parse error", nil))
	case m.Kind == wire.Invalid || m.HasOtherVersion:
		refuse(w, http.StatusBadRequest, m.ID, Failure(-32600, "Invalid Request", nil))
	case e.isStateless(r, m):
		e.answerStateless(w, r, m)
	default:
		e.answerInSession(w, r, m)
	}
}

// isStateless reports whether a message is served without a session. If both eras are served, the message
// or its header fields must show that it belongs to the stateless era.
func (e *endpoint) isStateless(r *http.Request, m *wire.Message) bool {
	if !e.Eras.HasSessions() {
		return true
	}
	if !e.Eras.HasStateless() {
		return false
	}
	return standsAlone(m) || r.Header.Get("Mcp-Method") != "" ||
		bridge.IsStateless(r.Header.Get("Mcp-Protocol-Version"))
}

// refuse responds with a JSON-RPC error and an HTTP status.
func refuse(w http.ResponseWriter, status int, id, failed json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(ComposeError(id, failed))
}

// answerStateless answers a message without a session. It refuses everything but a single request, and
// a request whose header fields or _meta are not valid. Notifications have no effect.
func (e *endpoint) answerStateless(w http.ResponseWriter, r *http.Request, m *wire.Message) {
	if m.Kind == wire.Notification {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Kind != wire.Request {
		refuse(w, http.StatusBadRequest, nil, Failure(-32600, "one request per POST", nil))
		return
	}
	c := statelessCaller(m)
	failed := e.checkCaller(c, m)
	if m.Method == "initialize" && !e.Eras.HasSessions() { // a client of the other era: name the revisions
		failed = e.UnsupportedVersion(jsonraw.TextOrRaw(jsonraw.First(m.Params, "protocolVersion")))
	} else if fault := headerFault(r.Header, c, m); fault != "" && c.Revision != "" {
		failed = Failure(-32020, fault, nil)
	}
	if failed != nil {
		refuse(w, http.StatusBadRequest, m.ID, failed)
		return
	}
	o := &responder{w: w, isStateless: true}
	e.runJob(r.Context(), o, e.h.Prepare(c, m))
}

// headerFault returns the fault of the header fields of a stateless request, or "". The fields must
// repeat parts of the body.
func headerFault(h http.Header, c Caller, m *wire.Message) string {
	required := []struct{ field, value string }{{"Mcp-Protocol-Version", c.Revision}, {"Mcp-Method", m.Method}}
	for _, f := range required {
		if got := h.Values(f.field); len(got) != 1 || got[0] != f.value {
			return f.field + " is not " + sanitize.Line(jsonraw.Excerpt([]byte(f.value), maxShown), sanitize.Signs)
		}
	}
	name := mcp.NameMember(m.Method)
	if name == "" { // the method has no name to repeat
		return ""
	}
	got := h.Values("Mcp-Name")
	if len(got) != 1 || decodeField(got[0]) != jsonraw.TextOrRaw(jsonraw.First(m.Params, name)) {
		return "Mcp-Name is not params." + name
	}
	return ""
}

// maxShown limits the bytes of a header field in an error.
const maxShown = 200

// decodeField returns the value of a header field, decoded if it is in base64. It returns a value that
// cannot be decoded to UTF-8 unchanged.
func decodeField(value string) string {
	inner, hasStart := strings.CutPrefix(value, "=?base64?")
	inner, hasEnd := strings.CutSuffix(inner, "?=")
	if !hasStart || !hasEnd {
		return value
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(raw) {
		return value
	}
	return string(raw)
}

// answerInSession answers a message or a batch in a session, one after the other. initialize begins a new
// session. Only the revision that has batches gets them.
func (e *endpoint) answerInSession(w http.ResponseWriter, r *http.Request, m *wire.Message) {
	if m.Kind == wire.Request && m.Method == "initialize" {
		s := e.addSession()
		w.Header().Set("Mcp-Session-Id", s.id)
		e.runJob(r.Context(), &responder{w: w}, e.h.Prepare(Caller{Session: s.Session}, m))
		return
	}
	s := e.findSession(w, r)
	if s == nil {
		return
	}
	items := []*wire.Message{m}
	if m.Kind == wire.Batch {
		if s.Caller().Revision != bridge.BatchRevision {
			refuse(w, http.StatusBadRequest, nil, Failure(-32600, "one message per POST", nil))
			return
		}
		items = m.Items
	}
	o := &responder{w: w, isBatch: m.Kind == wire.Batch}
	for _, item := range items {
		c := s.Caller()
		switch item.Kind {
		case wire.Request:
			ctx, endRequest := s.trackRequest(r.Context(), item.ID)
			e.runJob(ctx, o, e.h.Prepare(c, item))
			endRequest()
		case wire.Notification:
			s.applyCancellation(item)
			e.h.Notified(c, item)
		default: // a response to a request of the server
			s.Deliver(item)
		}
	}
	o.finish()
}

// addSession adds a new session. If there are too many sessions, it ends the least recently used one. A
// message for a session is dropped if maxPushed messages wait for its GET stream.
func (e *endpoint) addSession() *httpSession {
	pushed := make(chan []byte, maxPushed)
	s := &httpSession{pushed: pushed}
	s.Session = NewSession(e.ctx, e.SessionID(), func(raw []byte) {
		select {
		case pushed <- raw:
		default:
			e.Dropped()
		}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[s.id] = s
	e.order = append(e.order, s.id)
	if len(e.order) > e.MaxSessions {
		oldest := e.sessions[e.order[0]]
		delete(e.sessions, e.order[0])
		e.order = e.order[1:]
		oldest.End()
	}
	return s
}

// endSession ends and removes a session.
func (e *endpoint) endSession(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[id]; s != nil {
		s.End()
		delete(e.sessions, id)
		e.order = slices.DeleteFunc(e.order, func(other string) bool { return other == id })
	}
}

// findSession returns the session that a request names. If the session does not exist, it refuses the
// request and returns nil.
func (e *endpoint) findSession(w http.ResponseWriter, r *http.Request) *httpSession {
	id := r.Header.Get("Mcp-Session-Id")
	e.mu.Lock()
	s := e.sessions[id]
	if s != nil { // it becomes the most recently used session
		e.order = append(slices.DeleteFunc(e.order, func(other string) bool { return other == id }), id)
	}
	e.mu.Unlock()
	version := r.Header.Get("Mcp-Protocol-Version")
	switch {
	case id == "":
		refuse(w, http.StatusBadRequest, nil, Failure(-32000, "Bad Request: Mcp-Session-Id header is required", nil))
	case s == nil:
		refuse(w, http.StatusNotFound, nil, Failure(-32001, "Session not found", nil))
	case version != "" && !slices.Contains(bridge.LegacyRevisions, version):
		refuse(w, http.StatusBadRequest, nil, Failure(-32000, "Bad Request: Unsupported protocol version", nil))
	default:
		return s
	}
	return nil
}

// servePushed sends the pushed messages of a session until the client disconnects or the session ends.
func (e *endpoint) servePushed(w http.ResponseWriter, r *http.Request) {
	s := e.findSession(w, r)
	if s == nil {
		return
	}
	o := &responder{w: w}
	o.startStream()
	for {
		select {
		case raw := <-s.pushed:
			o.send(raw)
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// runJob runs a job until ctx or the server ends, writes its response, if there is one, and runs After.
func (e *endpoint) runJob(ctx context.Context, o *responder, job Job) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(e.ctx, cancel)
	defer stop()
	if reply := job.Run(ctx, o.send); reply != nil {
		o.reply(reply)
	}
	if job.After != nil {
		job.After()
	}
}
