package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

// A DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// maxHeader bounds a response's header. net/http is told a higher number,
// because what it refuses itself it does not name.
const maxHeader = 256 << 10

// idleTime is how long a connection is kept for the next request: shorter than servers
// do, Node's for five seconds, so that none is closed while a request is on its way.
const idleTime = 4 * time.Second

// A Clock measures a server's silence. Hold stops it until Release is called.
type Clock interface {
	Hold()
	Release()
}

// ConnectorOptions say how a Connector reaches servers.
type ConnectorOptions struct {
	// Connect bounds DNS, TCP and TLS together.
	Connect time.Duration
	// Dial opens connections; nil is the machine's network. Pins lead some elsewhere.
	Dial DialFunc
	Pins Pins
	// Proxy finds the proxy for a request.
	Proxy ProxyFunc
	// TLS is that of Certificates; nil believes the system's authorities.
	TLS *tls.Config
	// Through may wrap what sends requests; nil does not.
	Through func(http.RoundTripper) http.RoundTripper
	// Clock is held by Pause.
	Clock Clock
}

// A Connector has the HTTP connections of a session, which all its transports share.
type Connector struct {
	wires *http.Transport
	web   http.RoundTripper
	rec   *recorder
	clock Clock
	// asked is set when the server asked for a certificate, unshown when there was none.
	asked, unshown atomic.Bool
	// closesEach is set when the server closed a connection that was to be reused.
	closesEach atomic.Bool
}

// NewConnector makes a Connector that has no connection yet.
func NewConnector(opt ConnectorOptions, rec *recorder) *Connector {
	c := &Connector{rec: rec, clock: opt.Clock}
	c.wires = c.newWires(opt)
	c.web = tapped{c.wires, rec}
	if opt.Through != nil {
		c.web = opt.Through(c.web)
	}
	return c
}

// CloseIdle closes the connections on which no request is under way.
func (c *Connector) CloseIdle() { c.wires.CloseIdleConnections() }

// newWires has no overall timeout, which would cut long streams, and no
// transparent compression, which would hold events back.
func (c *Connector) newWires(opt ConnectorOptions) *http.Transport {
	dial := opt.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: max(opt.Connect, 0), KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:                  opt.Pins.Directly(opt.Proxy),
		DialContext:            watched(opt.Pins.Over(dial)),
		OnProxyConnectResponse: refusedTunnel,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		TLSHandshakeTimeout:    max(opt.Connect, 0),
		TLSClientConfig: noticing(opt.TLS, func(shown bool) {
			c.asked.Store(true)
			c.unshown.Store(!shown)
		}),
		MaxResponseHeaderBytes: 4 * maxHeader,
		MaxIdleConnsPerHost:    256, // requests in parallel: what is not kept is dialed again
		IdleConnTimeout:        idleTime,
		ReadBufferSize:         32 << 10,
	}
}

// roundTrip sends one request and follows no redirect, because a POST may become a GET and
// header fields with secrets would be sent too; nor does it read where a redirect leads, as
// an http.Client does. ConnectorOptions.Through wraps the recorder, so that what is
// recorded is what crosses.
func (c *Connector) roundTrip(req *http.Request) (*http.Response, error) {
	return c.web.RoundTrip(req)
}

// tapped records each request as it leaves, and the head of what comes back. One
// that is sent again is a request of its own.
type tapped struct {
	wires *http.Transport
	rec   *recorder
}

type tripKey struct{}

func (t tapped) RoundTrip(req *http.Request) (*http.Response, error) {
	rt := req.Context().Value(tripKey{}).(*trip)
	if rt.sent++; rt.sent > 1 {
		rt.stream = t.rec.nextStream()
	}
	req.Close = rt.via.closesEach.Load()
	t.rec.request(rt.stream, req)
	if rt.body != nil {
		t.rec.body(wire.Sent, wire.Body, rt.stream, rt.body, nil)
	}
	rt.started = rt.clock()
	resp, err := t.wires.RoundTrip(req)
	for err != nil && rt.isUnsent() && req.Context().Err() == nil {
		req = rewound(req)
		req.Close = true
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
	rt, ok := ctx.Value(tripKey{}).(*trip)
	if !ok {
		return func() {}
	}
	rt.via.clock.Hold()
	return rt.via.clock.Release
}

// trip is one HTTP request and what is known of how far it got.
type trip struct {
	via *Connector
	// body is what a POST carries.
	body []byte
	// sent counts how often it left.
	sent    int
	stream  int
	req     *http.Request
	resp    *http.Response
	clock   func() time.Time
	started time.Time

	// net/http traces from goroutines of its own, also after the response came.
	mu     sync.Mutex
	is     passage
	phases map[string]time.Time
}

// now is how far the request got.
func (rt *trip) now() passage {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.is
}

func (rt *trip) update(change func(*passage)) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	change(&rt.is)
}

// A passage is how far a request got.
type passage struct {
	wrote  bool
	reused bool // another request used the connection before
	timing wire.Timing
}

// traced notes the phases of time and whether the request left the machine.
// WroteHeaders comes before the body is sent, and no server can act on less than
// the header; GetConn comes again only when net/http tries a second connection,
// which it does only when nothing was written to the first.
func (rt *trip) traced(ctx context.Context) context.Context {
	rt.phases = map[string]time.Time{}
	ctx = context.WithValue(ctx, tripKey{}, rt)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              rt.searching,
		GotConn:              rt.gotConn,
		DNSStart:             func(httptrace.DNSStartInfo) { rt.begin("dns") },
		DNSDone:              func(httptrace.DNSDoneInfo) { rt.done("dns", &rt.is.timing.DNS) },
		ConnectStart:         func(string, string) { rt.begin("connect") },
		ConnectDone:          func(string, string, error) { rt.done("connect", &rt.is.timing.Connect) },
		TLSHandshakeStart:    func() { rt.begin("tls") },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { rt.done("tls", &rt.is.timing.TLS) },
		WroteHeaders:         func() { rt.update(func(p *passage) { p.wrote = true }) },
		GotFirstResponseByte: func() { rt.done("", &rt.is.timing.FirstByte) },
	})
}

func (rt *trip) begin(phase string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.phases[phase] = rt.clock()
}

// done ends a phase; "" is the one that began with the request.
func (rt *trip) done(phase string, took *time.Duration) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	from, ok := rt.phases[phase]
	if !ok {
		from = rt.started
	}
	*took = rt.clock().Sub(from)
}

// searching notes that the request has no connection, or none any more.
func (rt *trip) searching(string) {
	rt.noteLost()
	rt.update(func(p *passage) { p.wrote, p.reused = false, false })
}

// noteLost notes that the server closed the connection before its response. If it was a
// reused one, the server may close each after a response, and none is reused any more.
func (rt *trip) noteLost() {
	if rt.now().reused {
		rt.via.closesEach.Store(true)
	}
}

func (rt *trip) gotConn(info httptrace.GotConnInfo) {
	if info.Reused {
		checkBeforeReuse(info.Conn)
	}
	rt.update(func(p *passage) { p.reused = info.Reused })
}

// isUnsent reports that nothing of the request was written, because the server closed the
// reused connection that it was to go out on. net/http then resends it only if its method
// is idempotent, which a POST is not.
func (rt *trip) isUnsent() bool {
	got := rt.now()
	return got.reused && !got.wrote
}

// rewound copies req with its body from the start.
func rewound(req *http.Request) *http.Request {
	req = req.Clone(req.Context())
	if req.GetBody != nil {
		req.Body, _ = req.GetBody() // a bytes.Reader, which cannot fail
	}
	return req
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

func refusedTunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode/100 != 2 {
		return proxyRefusal{resp.StatusCode, resp.Status}
	}
	return nil
}
