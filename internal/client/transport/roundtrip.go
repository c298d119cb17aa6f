package transport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"mcpc/internal/httpconn"
	"mcpc/internal/wire"
)

// recordedTransport records each request as it leaves, and the head of what comes back. One
// that is sent again is a request of its own.
type recordedTransport struct {
	wires *http.Transport
	rec   *Recorder
}

type roundTripKey struct{}

func (t recordedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	rt := req.Context().Value(roundTripKey{}).(*roundTrip)
	rt.sent++
	if rt.sent > 1 {
		rt.stream, rt.recorded = t.rec.nextStream(), t.rec.on()
	}
	req.Close = rt.via.closesEach.Load()
	if rt.recorded {
		t.rec.request(rt.stream, req)
	}
	if rt.body != nil {
		t.rec.Sent(rt.stream, rt.body, rt.again)
	}
	if rt.crossing != nil {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), rt.crossing))
	}
	rt.started = rt.clock()
	resp, err := t.wires.RoundTrip(req)
	for err != nil && rt.isUnsent() && req.Context().Err() == nil {
		req = req.Clone(req.Context())
		req.Close = true
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // a bytes.Reader, which cannot fail
		}
		resp, err = t.wires.RoundTrip(req)
	}
	if err != nil && isHangUp(err) {
		rt.noteLost()
	}
	if err == nil {
		t.rec.response(rt.stream, resp, new(rt.now().timing))
	}
	return resp, err
}

// Pause stops the clocks that measure a server's silence until release is called.
// It is for an Options.Through that asks the user before a request can be answered;
// ctx is that request's.
func Pause(ctx context.Context) (release func()) {
	rt, ok := ctx.Value(roundTripKey{}).(*roundTrip)
	if !ok {
		return func() {}
	}
	rt.via.clock.Hold()
	return rt.via.clock.Release
}

// roundTrip is one HTTP request and what is known of how far it got.
type roundTrip struct {
	via *Connector
	// shown is the URL without its secrets.
	shown string
	// body is what a POST carries.
	body []byte
	// again is the id of the request that this one sends again, or nil.
	again json.RawMessage
	// sent counts how often it left.
	sent int
	// recorded is set where the recorder takes its head.
	recorded bool
	stream   int
	req      *http.Request
	resp     *http.Response
	clock    func() time.Time
	// crossing traces the request besides; nil does not.
	crossing *httptrace.ClientTrace
	started  time.Time

	// net/http traces from goroutines of its own, also after the response came.
	mu     sync.Mutex
	is     roundTripState
	phases map[string]time.Time
}

// now is how far the request got.
func (rt *roundTrip) now() roundTripState {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.is
}

func (rt *roundTrip) update(change func(*roundTripState)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	change(&rt.is)
}

// A roundTripState is how far a request got.
type roundTripState struct {
	wrote  bool          // the header is written, or about to be, and no server can act on less
	got    httpconn.Mark // of the connection, when the request got it
	reused bool          // another request used the connection before
	timing wire.Timing
}

// traced returns ctx for a request. It notes whether the request left the machine, and if it is recorded how long each
// phase took.
func (rt *roundTrip) traced(ctx context.Context) context.Context {
	rt.recorded = rt.via.rec.on()
	trace := &httptrace.ClientTrace{
		// It is called again only if a second connection is tried, because nothing was written to the first.
		GetConn: func(string) {
			rt.noteLost()
			rt.update(func(p *roundTripState) { *p = roundTripState{timing: p.timing} })
		},
		GotConn: func(info httptrace.GotConnInfo) {
			rt.update(func(p *roundTripState) {
				p.got = httpconn.GotConn(info)
				p.reused = info.Reused
			})
		},
		WroteHeaders: func() { rt.update(func(p *roundTripState) { p.wrote = true }) },
	}
	if rt.recorded {
		trace.GotFirstResponseByte = func() { rt.done("", &rt.is.timing.FirstByte) }
		trace.DNSStart = func(httptrace.DNSStartInfo) { rt.begin("dns") }
		trace.DNSDone = func(httptrace.DNSDoneInfo) { rt.done("dns", &rt.is.timing.DNS) }
		trace.ConnectStart = func(string, string) { rt.begin("connect") }
		trace.ConnectDone = func(string, string, error) { rt.done("connect", &rt.is.timing.Connect) }
		trace.TLSHandshakeStart = func() { rt.begin("tls") }
		trace.TLSHandshakeDone = func(tls.ConnectionState, error) { rt.done("tls", &rt.is.timing.TLS) }
	}
	return httptrace.WithClientTrace(context.WithValue(ctx, roundTripKey{}, rt), trace)
}

func (rt *roundTrip) begin(phase string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.phases == nil {
		rt.phases = map[string]time.Time{}
	}
	rt.phases[phase] = rt.clock()
}

// done ends a phase; "" is the one that began with the request.
func (rt *roundTrip) done(phase string, took *time.Duration) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	from, ok := rt.phases[phase]
	if !ok {
		from = rt.started
	}
	*took = rt.clock().Sub(from)
}

// noteLost notes that the server closed the connection before its response. If it was a
// reused one, the server may close each after a response, and none is reused any more.
func (rt *roundTrip) noteLost() {
	if rt.now().reused {
		rt.via.closesEach.Store(true)
	}
}

// isUnsent reports that nothing of the request was written, because the server closed the
// reused connection that it was to go out on. net/http then resends it only if its method
// is idempotent, which a POST is not.
func (rt *roundTrip) isUnsent() bool {
	now := rt.now()
	return now.reused && (!now.wrote || !now.got.IsPassed())
}

func headerSize(h http.Header) int {
	size := 0
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value) + 4
		}
	}
	return size
}

// A proxyRefusal is a proxy's answer to CONNECT that opens no tunnel.
type proxyRefusal struct {
	code   int
	status string
}

func (e proxyRefusal) Error() string { return "the proxy answered " + e.status }
