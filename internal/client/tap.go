package client

import (
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

// A recorder turns what a transport sees into frames: numbered, dated and
// redacted before the tap sees them.
type recorder struct {
	mu  sync.Mutex
	seq uint64
	// now dates the frames, which tap takes; where tap is nil, nothing is recorded.
	now func() time.Time
	tap wire.Tap
	// full reports that the tap wants no more; it may be nil.
	full func() bool
	// secrets learns what is hidden, so that it is hidden elsewhere too.
	secrets *redact.Secrets
	// streams counts the HTTP requests of all transports of a conversation.
	streams atomic.Int64
}

// nextStream numbers an HTTP request and what comes back for it.
func (r *recorder) nextStream() int { return int(r.streams.Add(1)) }

// on reports whether the tap takes frames, so that they are made only then.
func (r *recorder) on() bool {
	return r != nil && r.tap != nil && (r.full == nil || !r.full())
}

func (r *recorder) frame(f wire.Frame) {
	if !r.on() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	f.Seq, f.Time = r.seq, r.now()
	r.tap(f)
}

// body records bytes that must not change any more.
func (r *recorder) body(dir wire.Direction, kind wire.FrameKind, stream int, raw []byte, sse *sse.Facts) {
	if raw == nil {
		raw = []byte{} // a body without bytes is one all the same
	}
	r.frame(wire.Frame{Dir: dir, Kind: kind, Stream: stream, Raw: raw[:len(raw):len(raw)], SSE: sse})
}

func (r *recorder) request(stream int, req *http.Request) {
	if r.on() {
		head := &wire.HTTPHead{Method: req.Method, URL: redact.RedactURL(req.URL.String()),
			Proto: "HTTP/1.1", Fields: r.fieldsOf(req.Header)}
		r.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Head, Stream: stream, HTTP: head})
	}
}

func (r *recorder) response(stream int, resp *http.Response, timing *wire.Timing) {
	if r.on() {
		head := &wire.HTTPHead{Status: resp.StatusCode, Proto: resp.Proto,
			Fields: r.fieldsOf(resp.Header), Timing: timing}
		r.frame(wire.Frame{Dir: wire.Received, Kind: wire.Head, Stream: stream, HTTP: head})
	}
}

func (r *recorder) closed(stream int, by wire.Direction, how, text string) {
	r.frame(wire.Frame{Dir: by, Kind: wire.Closed, Stream: stream,
		Close: &wire.CloseFacts{By: by, How: how, Text: text}})
}

// fieldsOf lists header fields by name; net/http does not keep their order.
func (r *recorder) fieldsOf(h http.Header) []wire.Field {
	var fields []wire.Field
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			f := wire.Field{Name: name, Value: value}
			r.secrets.LearnField(f)
			fields = append(fields, redact.RedactField(f))
		}
	}
	return fields
}
