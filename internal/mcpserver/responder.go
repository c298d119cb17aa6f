package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A responder writes the response to one POST, or a GET stream. The response is a JSON body if
// nothing precedes it, else an event stream.
type responder struct {
	w http.ResponseWriter
	// isStateless maps errors to HTTP statuses. isBatch collects the responses to an array.
	isStateless, isBatch bool

	mu         sync.Mutex
	headDone   bool
	hasReplied bool
	isClosed   bool // the request has ended: nothing may be written
	replies    []json.RawMessage
	// size is the number of bytes in replies.
	size int
}

// maxReplies limits the bytes of responses to an array that are collected for one JSON body. Beyond it,
// the responses are streamed: a small array may request a large response many times.
const maxReplies = 8 << 20

// startStream writes the head of an event stream.
func (o *responder) startStream() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeHeadLocked()
}

// writeHeadLocked writes the head of an event stream, once. The caller holds mu.
func (o *responder) writeHeadLocked() {
	if o.headDone {
		return
	}
	o.headDone = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the events
	o.w.WriteHeader(http.StatusOK)
	o.flush()
}

// flush sends the written bytes to the client.
func (o *responder) flush() { _ = http.NewResponseController(o.w).Flush() }

// send writes a message that precedes the response.
func (o *responder) send(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		return
	}
	o.writeHeadLocked()
	o.writeEventLocked("message", jsonraw.OneLine(raw))
}

// sendEvent writes an event with a name other than "message". data must be one line.
func (o *responder) sendEvent(name string, data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writeHeadLocked()
	o.writeEventLocked(name, data)
}

// close makes send drop messages. The handler of the request must not return before.
func (o *responder) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.isClosed = true
}

// writeEventLocked writes an event. data must be one line. The caller holds mu.
func (o *responder) writeEventLocked(name string, data []byte) {
	_, _ = fmt.Fprintf(o.w, "event: %s\ndata: %s\n\n", name, data)
	o.flush()
}

// writeRepliesLocked writes the collected replies as events. The caller holds mu.
func (o *responder) writeRepliesLocked() {
	for _, raw := range o.replies {
		o.writeEventLocked("message", jsonraw.OneLine(raw))
	}
	o.replies = nil
}

// reply writes a response: as an event if a stream has begun, else as the JSON body. It collects the
// responses to a batch, which finish writes.
func (o *responder) reply(raw []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.headDone {
		o.writeEventLocked("message", jsonraw.OneLine(raw))
	} else if o.isBatch {
		o.replies = append(o.replies, raw)
		o.size += len(raw)
		if o.size > maxReplies {
			o.writeHeadLocked()
			o.writeRepliesLocked()
		}
	} else {
		o.writeJSONLocked(raw)
	}
	o.hasReplied = true
}

// writeJSONLocked writes the response as a JSON body. The caller holds mu.
func (o *responder) writeJSONLocked(raw []byte) {
	o.w.Header().Set("Content-Type", "application/json")
	if status := o.statusOf(raw); status != http.StatusOK {
		o.w.WriteHeader(status)
	}
	_, _ = o.w.Write(raw)
}

// statusOf returns the HTTP status of a response. It is 200 except for some errors of the stateless
// era.
func (o *responder) statusOf(raw []byte) int {
	m := wire.ParseMessage(raw)
	if !o.isStateless || m.Error == nil {
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
	case !o.headDone && len(o.replies) > 0:
		o.writeJSONLocked(jsonraw.List(o.replies))
	case o.headDone: // responses that were collected before the stream began
		o.writeRepliesLocked()
	case !o.hasReplied:
		o.w.WriteHeader(http.StatusAccepted)
	}
}
