package mcpserver

import (
	"encoding/json"
	"net/http"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A responder writes the response to one POST, or a GET stream. The response is a JSON body if
// nothing precedes it, else an event stream.
type responder struct {
	w http.ResponseWriter
	// stateless maps errors to HTTP statuses. batch collects the responses to an array.
	stateless, batch bool

	mu      sync.Mutex
	begun   bool
	done    bool
	replies []json.RawMessage
	// size is the number of bytes in replies.
	size int
}

// maxReplies limits the bytes of responses to an array that are collected for one JSON body. Beyond it,
// the responses are streamed: a small array may request a large response many times.
const maxReplies = 8 << 20

// begin writes the head of an event stream.
func (o *responder) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head()
}

// head writes the head of an event stream, once. The caller holds mu.
func (o *responder) head() {
	if o.begun {
		return
	}
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	o.flush()
}

// flush sends the written bytes to the client.
func (o *responder) flush() { _ = http.NewResponseController(o.w).Flush() }

// send writes a message that precedes the response.
func (o *responder) send(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head()
	o.event(raw)
}

// event writes a message as an event. The caller holds mu.
func (o *responder) event(raw []byte) {
	data := append([]byte("event: message\ndata: "), jsonraw.OneLine(raw)...)
	_, _ = o.w.Write(append(data, "\n\n"...))
	o.flush()
}

// events writes the collected replies as events. The caller holds mu.
func (o *responder) events() {
	for _, raw := range o.replies {
		o.event(raw)
	}
	o.replies = nil
}

// reply writes or collects a response.
func (o *responder) reply(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.begun:
		o.event(raw)
	case o.batch:
		o.replies = append(o.replies, raw)
		o.size += len(raw)
		if o.size > maxReplies {
			o.head()
			o.events()
		}
	default:
		o.json(raw)
	}
	o.done = true
}

// json writes the response as a JSON body. The caller holds mu.
func (o *responder) json(raw []byte) {
	o.w.Header().Set("Content-Type", "application/json")
	if status := o.status(raw); status != http.StatusOK {
		o.w.WriteHeader(status)
	}
	_, _ = o.w.Write(raw)
}

// status returns the HTTP status of a response.
func (o *responder) status(raw []byte) int {
	m := wire.ParseMessage(raw)
	if !o.stateless || m.Error == nil {
		return http.StatusOK
	}
	switch m.Error.Code {
	case -32601:
		return http.StatusNotFound
	case -32020, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// finish writes the collected replies, or status 202 if there was no request to answer.
func (o *responder) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.begun && len(o.replies) > 0:
		o.json(jsonraw.List(o.replies))
	case o.begun:
		o.events()
	case !o.done:
		o.w.WriteHeader(http.StatusAccepted)
	}
}
