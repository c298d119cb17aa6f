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

// A Recorder turns what a transport sees into frames: numbered, dated and
// redacted before the tap sees them.
type Recorder struct {
	mu  sync.Mutex
	seq uint64
	// Now dates the frames, which tap takes; where tap is nil, nothing is recorded.
	Now func() time.Time
	Tap wire.Tap
	// Full reports that the tap wants no more; it may be nil.
	Full func() bool
	// Secrets learns what is hidden, so that it is hidden elsewhere too.
	Secrets *redact.Secrets
	// streams counts the HTTP requests of all transports of a conversation.
	streams atomic.Int64
}

// nextStream numbers an HTTP request and what comes back for it.
func (r *Recorder) nextStream() int { return int(r.streams.Add(1)) }

// on reports whether the tap takes frames, so that they are made only then.
func (r *Recorder) on() bool {
	return r != nil && r.Tap != nil && (r.Full == nil || !r.Full())
}

func (r *Recorder) frame(f wire.Frame) {
	if !r.on() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	f.Seq, f.Time = r.seq, r.Now()
	r.Tap(f)
}

// Body records bytes that must not change any more.
func (r *Recorder) Body(dir wire.Direction, kind wire.FrameKind, stream int, raw []byte, sse *sse.Facts) {
	if raw == nil {
		raw = []byte{} // a body without bytes is one all the same
	}
	r.frame(wire.Frame{Dir: dir, Kind: kind, Stream: stream, Raw: raw[:len(raw):len(raw)], SSE: sse})
}

// Sent records a message of the client; again is the id of the request that it sends again, nil if it sends none.
func (r *Recorder) Sent(stream int, raw []byte, again json.RawMessage) {
	r.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Stream: stream, Raw: raw[:len(raw):len(raw)],
		Again: string(again)})
}

func (r *Recorder) request(stream int, req *http.Request) {
	head := &wire.HTTPHead{Method: req.Method, URL: redact.RedactURL(req.URL.String()),
		Proto: "HTTP/1.1", Fields: r.fieldsOf(req.Header)}
	r.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: stream, HTTP: head})
}

func (r *Recorder) response(stream int, resp *http.Response, timing *wire.Timing) {
	if r.on() {
		head := &wire.HTTPHead{Status: resp.StatusCode, Proto: resp.Proto,
			Fields: r.fieldsOf(resp.Header), Timing: timing}
		r.frame(wire.Frame{Dir: wire.Received, Kind: wire.Head, Stream: stream, HTTP: head})
	}
}

func (r *Recorder) closed(stream int, by wire.Direction, how, text string) {
	r.frame(wire.Frame{Dir: by, Kind: wire.Closed, Stream: stream,
		Close: &wire.CloseFacts{By: by, How: how, Text: text}})
}

// fieldsOf lists header fields by name; net/http does not keep their order.
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
