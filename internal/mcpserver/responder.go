package mcpserver

import (
	"encoding/json"
	"net/http"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A responder writes the answer to one POST, or a GET stream: a body of JSON where nothing comes before the
// response, else an event stream.
type responder struct {
	w http.ResponseWriter
	// stateless maps errors to statuses; batch collects the responses of an array.
	stateless, batch bool

	mu      sync.Mutex
	begun   bool
	done    bool
	replies []json.RawMessage
	size    int // of the replies, in bytes
}

// mostReplies is how many bytes of responses to an array are kept for one body: of more
// there is a stream, as a small array may ask for a large response many times.
const mostReplies = 8 << 20

// begin sends the head of an event stream.
func (o *responder) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head()
}

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

func (o *responder) flush() { _ = http.NewResponseController(o.w).Flush() }

// send sends a message before the response.
func (o *responder) send(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.head()
	o.event(raw)
}

func (o *responder) event(raw []byte) {
	data := append([]byte("event: message\ndata: "), jsonraw.OneLine(raw)...)
	_, _ = o.w.Write(append(data, "\n\n"...))
	o.flush()
}

// events sends the replies that were kept.
func (o *responder) events() {
	for _, raw := range o.replies {
		o.event(raw)
	}
	o.replies = nil
}

// reply sends the response.
func (o *responder) reply(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.begun:
		o.event(raw)
	case o.batch:
		o.replies = append(o.replies, raw)
		o.size += len(raw)
		if o.size > mostReplies {
			o.head()
			o.events()
		}
	default:
		o.json(raw)
	}
	o.done = true
}

func (o *responder) json(raw []byte) {
	o.w.Header().Set("Content-Type", "application/json")
	if status := o.status(raw); status != http.StatusOK {
		o.w.WriteHeader(status)
	}
	_, _ = o.w.Write(raw)
}

// status is that of a response where requests stand alone.
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

// finish ends the answer to messages that had no request among them, or to an array.
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
