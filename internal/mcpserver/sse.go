package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// opensSSE reports whether a request opens a session of HTTP+SSE (2024-11-05, "HTTP with SSE"). A client
// of Streamable HTTP names its session in a GET.
func (e *endpoint) opensSSE(r *http.Request) bool {
	accepts := strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream")
	return e.ServesSSE && e.Eras.HasSessions() && r.Method == http.MethodGet && accepts
}

// serveSSE serves a client of HTTP+SSE like a client over stdio: the stream of its GET has the messages
// for it, and at first the URL to which it posts messages. The session ends with the stream.
func (e *endpoint) serveSSE(w http.ResponseWriter, r *http.Request) {
	in, fromClient := io.Pipe()
	id := e.SessionID()
	e.mu.Lock()
	hasRoom := len(e.sseClients) < e.MaxSessions
	if hasRoom {
		e.sseClients[id] = fromClient
	}
	e.mu.Unlock()
	if !hasRoom {
		http.Error(w, e.Name+": too many clients", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	defer context.AfterFunc(ctx, func() { fromClient.Close() })()
	o := &responder{w: w}
	defer o.close() // a message for the session may come later
	defer func() {
		e.mu.Lock()
		delete(e.sseClients, id)
		e.mu.Unlock()
		fromClient.Close()
	}()
	path := "/" + strings.TrimLeft(r.URL.EscapedPath(), "/") // with // it would begin with a host
	o.sendEvent("endpoint", []byte(path+"?"+url.Values{sseSession: {id}}.Encode()))
	_ = e.Stdio(ctx, in, eventWriter{o})
}

// sseSession is the parameter of the URL to which a client posts messages.
const sseSession = "sessionId"

// An eventWriter writes each message of one Write as an event.
type eventWriter struct{ o *responder }

func (w eventWriter) Write(line []byte) (int, error) {
	w.o.send(line)
	return len(line), nil
}

// findSSE returns the input of the client that posts a message to the URL of its stream, or nil.
func (e *endpoint) findSSE(r *http.Request) io.Writer {
	if r.Method != http.MethodPost {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if client := e.sseClients[r.URL.Query().Get(sseSession)]; client != nil {
		return client
	}
	return nil
}

// takeSSE passes a posted message to the session of its client. The response is in the stream.
func (e *endpoint) takeSSE(w http.ResponseWriter, r *http.Request, client io.Writer) {
	if wire.MediaType(r.Header.Get("Content-Type")) != "application/json" {
		http.Error(w, e.Name+": Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		http.Error(w, e.Name+": the body of the request cannot be read, or is too large", http.StatusBadRequest)
		return
	}
	if err := jsonraw.Valid(body); err != nil {
		http.Error(w, fmt.Sprintf("%s: not JSON: %v", e.Name, err), http.StatusBadRequest)
		return
	}
	if _, err := client.Write(append(jsonraw.OneLine(body), '\n')); err != nil {
		http.Error(w, e.Name+": the stream has ended", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
