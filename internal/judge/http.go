package judge

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcpserver"
	"mcpc/internal/wire"
)

// maxMessage limits the bytes of a client's message.
const maxMessage = 4 << 20

// serveHTTP produces the faults of HTTP, and passes all other requests to next.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request, next http.Handler) {
	session := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	isLost := s.lost[session]
	s.mu.Unlock()
	if r.Method == http.MethodGet && !isLost && s.resume(w, r) {
		return
	}
	if r.Method != http.MethodPost {
		if isLost {
			refuseSession(w, nil)
			return
		}
		next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, "mcpc judge: the body of the request cannot be read, or is too large", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m := wire.ParseMessage(body)
	if isLost {
		if m.Method == "tools/call" {
			s.countCall(jsonraw.TextOrRaw(jsonraw.First(m.Params, "name")))
		}
		refuseSession(w, m.ID)
		return
	}
	name := ""
	isOldTransport := r.URL.Query().Has("sessionId") // HTTP+SSE has no response in the POST
	if m.Kind == wire.Request && m.Method == "tools/call" && !s.IsBrief && !isOldTransport {
		name = jsonraw.TextOrRaw(jsonraw.First(m.Params, "name"))
	}
	switch name {
	case busyTool, limitTool:
		if s.refuseOnce(w, name) {
			return
		}
	case cutTool:
		if s.cutStream(w, session, m) {
			return
		}
	case lostTool:
		s.mu.Lock()
		s.lost[session] = session != "" // before the client can get the response and send its next request
		s.mu.Unlock()
	}
	next.ServeHTTP(w, r)
}

// refuseSession responds that the session is unknown.
func refuseSession(w http.ResponseWriter, id []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(mcpserver.ComposeError(id, mcpserver.Failure(-32001, "Session not found", nil)))
}

// isFirst reports whether this is the first call of a tool that HTTP handles, and counts it.
func (s *Server) isFirst(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isFirst := !s.handled[name]
	if isFirst {
		s.handled[name] = true
		s.called[name]++
	}
	return isFirst
}

// refuseOnce refuses the first call of a tool for a second, and reports whether it did.
func (s *Server) refuseOnce(w http.ResponseWriter, name string) bool {
	if !s.isFirst(name) {
		return false
	}
	status := http.StatusServiceUnavailable
	if name == limitTool {
		status = http.StatusTooManyRequests
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, "mcpc judge: come back in a second", status)
	return true
}

// cutStream ends the stream of the first call before its response, and reports whether it did. In a
// session, the client can resume the stream; without one it sends the request again.
func (s *Server) cutStream(w http.ResponseWriter, session string, m *wire.Message) bool {
	if !s.isFirst(cutTool) {
		return false
	}
	if session == "" {
		beginEvents(w)
		return true
	}
	s.mu.Lock()
	s.cutResponse = s.compose(mcpserver.Caller{}, m, text("The stream was resumed."))
	s.mu.Unlock()
	beginEvents(w)
	// A notification, as clients of older revisions cannot read an event without data.
	note := wire.ComposeNotification("notifications/message", []byte(`{"level":"info","data":"The stream ends here."}`))
	_, _ = fmt.Fprintf(w, "id: %s\nretry: 100\ndata: %s\n\n", cutEvent, note)
	return true
}

// cutEvent is the id of the last event before the cut.
const cutEvent = "cut"

// resume sends the response of a cut stream to a client that names its last event, and reports whether
// it did.
func (s *Server) resume(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	response := s.cutResponse
	s.mu.Unlock()
	if response == nil || r.Header.Get("Last-Event-ID") != cutEvent {
		return false
	}
	beginEvents(w)
	_, _ = fmt.Fprintf(w, "id: resumed\ndata: %s\n\n", jsonraw.OneLine(response))
	return true
}

// beginEvents writes the head of an event stream.
func beginEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}
