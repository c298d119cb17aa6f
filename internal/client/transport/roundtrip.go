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

// A recordedTransport records each request when it is sent, and the header of its response. A
// request that is sent again gets a new number.
type recordedTransport struct {
	base *http.Transport
	rec  *Recorder
}

type roundTripKey struct{}

// RoundTrip sends and records a request. It sends the request again if a reused connection was
// closed before anything was written. The request's context must contain its roundTrip; Through may
// call RoundTrip several times with it, but not at the same time. RoundTrip sets req.Close, against
// the contract of http.RoundTripper: only a Connector sends these requests.
func (t recordedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	rt := req.Context().Value(roundTripKey{}).(*roundTrip)
	rt.sent++
	if rt.sent > 1 { // the first has its number already
		rt.stream = t.rec.nextStream()
		rt.recorded = t.rec.isRecording()
	}
	req.Close = rt.connector.closesConnections.Load()
	if rt.recorded {
		t.rec.recordRequest(rt.stream, req)
	}
	if rt.body != nil {
		t.rec.RecordSent(rt.stream, rt.body, rt.previousID)
	}
	if rt.trace != nil {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), rt.trace))
	}
	rt.started = rt.clock()
	resp, err := t.base.RoundTrip(req)
	for err != nil && rt.isUnsent() && req.Context().Err() == nil { // ends with a new connection
		req = req.Clone(req.Context())
		req.Close = true
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // a bytes.Reader, which cannot fail
		}
		resp, err = t.base.RoundTrip(req)
	}
	if err != nil && isHangUp(err) {
		rt.noteLost()
	}
	if err == nil {
		t.rec.recordResponse(rt.stream, resp, new(rt.currentState().timing))
	}
	return resp, err
}

// Pause stops the clocks that measure a server's silence until release is called. It is for
// ConnectorOptions.Through, which may ask the user before a request can be answered; ctx is the
// context of that request.
func Pause(ctx context.Context) (release func()) {
	rt, ok := ctx.Value(roundTripKey{}).(*roundTrip)
	if !ok {
		return func() {}
	}
	rt.connector.clock.Hold()
	return rt.connector.clock.Release
}

// A roundTrip is one HTTP request and how far it got.
type roundTrip struct {
	connector *Connector
	// redactedURL is the URL without its secrets.
	redactedURL string
	// body is the body of a POST.
	body []byte
	// previousID is the id of the request that this one repeats, or nil.
	previousID json.RawMessage
	// sent counts how often the request was sent.
	sent int
	// recorded is set if the recorder records the heads.
	recorded bool
	stream   int
	req      *http.Request
	resp     *http.Response
	clock    func() time.Time
	// trace, if not nil, traces the request as well.
	trace   *httptrace.ClientTrace
	started time.Time

	// mu guards the fields below. net/http calls traces from its own goroutines, also after the
	// response arrived.
	mu     sync.Mutex
	state  roundTripState
	phases map[string]time.Time
}

// currentState returns how far the request got.
func (rt *roundTrip) currentState() roundTripState {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.state
}

// update changes the state under the lock.
func (rt *roundTrip) update(change func(*roundTripState)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	change(&rt.state)
}

// A roundTripState is how far a request got.
type roundTripState struct {
	// isWritten is set when the header is written, or about to be. No server can act on less.
	isWritten bool
	// mark marks the bytes written to the connection when the request got it.
	mark httpconn.Mark
	// isReused is set if another request used the connection before.
	isReused bool
	timing   wire.Timing
}

// withTrace returns ctx with a trace that notes whether the request left the machine and, if the
// request is recorded, how long each phase took.
func (rt *roundTrip) withTrace(ctx context.Context) context.Context {
	rt.recorded = rt.connector.rec.isRecording()
	trace := &httptrace.ClientTrace{
		// GetConn is called again only if a second connection is tried, because nothing was written to the first.
		GetConn: func(string) {
			rt.noteLost()
			rt.update(func(p *roundTripState) { *p = roundTripState{timing: p.timing} })
		},
		GotConn: func(info httptrace.GotConnInfo) {
			rt.update(func(p *roundTripState) {
				p.mark = httpconn.GotConn(info)
				p.isReused = info.Reused
			})
		},
		WroteHeaders: func() { rt.update(func(p *roundTripState) { p.isWritten = true }) },
	}
	if rt.recorded {
		trace.GotFirstResponseByte = func() { rt.endPhase("", &rt.state.timing.FirstByte) }
		trace.DNSStart = func(httptrace.DNSStartInfo) { rt.beginPhase("dns") }
		trace.DNSDone = func(httptrace.DNSDoneInfo) { rt.endPhase("dns", &rt.state.timing.DNS) }
		trace.ConnectStart = func(string, string) { rt.beginPhase("connect") }
		trace.ConnectDone = func(string, string, error) { rt.endPhase("connect", &rt.state.timing.Connect) }
		trace.TLSHandshakeStart = func() { rt.beginPhase("tls") }
		trace.TLSHandshakeDone = func(tls.ConnectionState, error) { rt.endPhase("tls", &rt.state.timing.TLS) }
	}
	return httptrace.WithClientTrace(context.WithValue(ctx, roundTripKey{}, rt), trace)
}

// beginPhase notes the start of a phase.
func (rt *roundTrip) beginPhase(phase string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.phases == nil {
		rt.phases = map[string]time.Time{}
	}
	rt.phases[phase] = rt.clock()
}

// endPhase sets took to the duration of a phase; the phase "" began with the request.
func (rt *roundTrip) endPhase(phase string, took *time.Duration) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	from, ok := rt.phases[phase]
	if !ok { // the phase ""
		from = rt.started
	}
	*took = rt.clock().Sub(from)
}

// noteLost notes that the server closed the connection before its response. If the connection was a
// reused one, the server may close each connection after a response, so no connection is reused any
// more.
func (rt *roundTrip) noteLost() {
	if rt.currentState().isReused {
		rt.connector.closesConnections.Store(true)
	}
}

// isUnsent reports whether nothing of the request was written because the server closed the reused
// connection. net/http sends such a request again only if its method is idempotent, which POST is
// not.
func (rt *roundTrip) isUnsent() bool {
	now := rt.currentState()
	return now.isReused && (!now.isWritten || !now.mark.IsPassed())
}

// headerSize returns the size of a header in bytes, as HTTP/1.1 writes it.
func headerSize(h http.Header) int {
	size := 0
	for name, values := range h {
		for _, value := range values {
			size += len(name) + len(value) + len(": \r\n")
		}
	}
	return size
}

// A proxyRefusal is a proxy's refusal to open a tunnel with CONNECT.
type proxyRefusal struct {
	code   int
	status string
}

// Error returns the text.
func (e proxyRefusal) Error() string { return "the proxy returned " + e.status }
