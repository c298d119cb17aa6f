package transport

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A Recorder makes frames of what a transport sends and receives. It numbers, dates and redacts each
// before the tap gets it.
type Recorder struct {
	mu  sync.Mutex
	seq uint64
	// Now dates the frames. Tap receives them; if it is nil, nothing is recorded.
	Now func() time.Time
	Tap wire.Tap
	// Full, if not nil, reports whether the tap wants no more frames.
	Full func() bool
	// Secrets learns the redacted values, so that they are redacted elsewhere too.
	Secrets *redact.Secrets
	// streams counts the HTTP requests of all transports of a session.
	streams atomic.Int64
}

// nextStream returns the number of the next HTTP request and its response.
func (r *Recorder) nextStream() int { return int(r.streams.Add(1)) }

// isRecording reports whether the tap accepts frames. Callers skip the work for a frame if it does not.
func (r *Recorder) isRecording() bool {
	return r != nil && r.Tap != nil && (r.Full == nil || !r.Full())
}

// record numbers and dates a frame, and gives it to the tap.
func (r *Recorder) record(f wire.Frame) {
	if !r.isRecording() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	f.Seq = r.seq
	f.Time = r.Now()
	r.Tap(f)
}

// RecordBody records bytes that the caller does not change afterwards.
func (r *Recorder) RecordBody(dir wire.Direction, kind wire.FrameKind, stream int, raw []byte, facts *sse.Facts) {
	if raw == nil {
		raw = []byte{} // an empty body is recorded too
	}
	r.record(wire.Frame{Dir: dir, Kind: kind, Stream: stream, Raw: raw[:len(raw):len(raw)], SSE: facts})
}

// RecordSent records a message of the client. previousID is the id of the request that it repeats, or
// nil.
func (r *Recorder) RecordSent(stream int, raw []byte, previousID json.RawMessage) {
	r.record(wire.Frame{
		Dir: wire.Sent, Kind: wire.Body, Stream: stream, Raw: raw[:len(raw):len(raw)],
		PreviousID: string(previousID),
	})
}

// recordRequest records the head of an HTTP request.
func (r *Recorder) recordRequest(stream int, req *http.Request) {
	head := &wire.HTTPHead{
		Method: req.Method, URL: redact.RedactURL(req.URL.String()),
		Proto: "HTTP/1.1", Fields: r.fieldsOf(req.Header),
	}
	r.record(wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: stream, HTTP: head})
}

// recordResponse records the head of an HTTP response.
func (r *Recorder) recordResponse(stream int, resp *http.Response, timing *wire.Timing) {
	if r.isRecording() {
		head := &wire.HTTPHead{
			Status: resp.StatusCode, Proto: resp.Proto,
			Fields: r.fieldsOf(resp.Header), Timing: timing,
		}
		r.record(wire.Frame{Dir: wire.Received, Kind: wire.Head, Stream: stream, HTTP: head})
	}
}

// recordClosed records the end of a stream: the side that ended it, how, and a text for people.
func (r *Recorder) recordClosed(stream int, by wire.Direction, how, text string) {
	r.record(wire.Frame{
		Dir: by, Kind: wire.Closed, Stream: stream,
		Close: &wire.CloseFacts{By: by, How: how, Text: text},
	})
}

// fieldsOf returns header fields sorted by name, redacted; net/http does not keep their order.
func (r *Recorder) fieldsOf(h http.Header) []wire.Field {
	var fields []wire.Field
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			f := wire.Field{Name: name, Value: value}
			r.Secrets.LearnField(f)
			fields = append(fields, redact.RedactField(f))
		}
	}
	return fields
}
