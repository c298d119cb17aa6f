package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/compress"
	"mcpc/internal/httpconn"
	"mcpc/internal/jsonraw"
	"mcpc/internal/loopback"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A Proxy is an http.Handler that forwards to the servers it was given and lets a
// Watcher see what crosses. What it reads it writes at once; it adds, takes away
// and mends nothing but what HTTP demands of a proxy (RFC 9110, section 7.6) and
// the address in a first event of the old transport, see endpoint.go. It follows
// no redirect and asks for no compression; a compressed body passes as it is, and a
// copy of it is decoded. Header fields keep their names and values, but not the order of
// different ones.
//
// Authorization is forwarded: the client means it for the server behind the proxy, which
// sends it nowhere else.
type Proxy struct {
	// Routes are the servers. One without a Path takes what no other takes.
	Routes []Route
	// Address is where the Proxy listens, HOST:PORT.
	Address string
	Watcher *Watcher
	// Dial opens connections to the servers, Through finds the proxy for a request and
	// TLS judges certificates. Nil is the network as it is, no proxy, and the system.
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Through func(*http.Request) (*url.URL, error)
	TLS     *tls.Config
	// Desk decides about the messages. KeepHost sends the client's Host field on.
	Desk     *Desk
	KeepHost bool

	transport http.RoundTripper
	// servers are those of the Routes as filters name them.
	servers []string
	// busy is read-locked by every request under way.
	active  sync.RWMutex
	streams atomic.Int64
	conns   conns // the Watcher's goroutine alone looks at it
	// mu guards endpoints: the addresses that servers of the old HTTP+SSE transport have named, as the client asks for
	// them.
	mu        sync.Mutex
	endpoints recent.Map[string, *destination]
}

// A Route forwards what is asked under Path, or everything where that is "", to
// the URL To. Without a Path the paths on both sides are the same.
type Route struct {
	Path string
	To   *url.URL
}

// idleTime is how long a connection is kept idle: shorter than servers keep it.
const idleTime = 4 * time.Second

// Handler is what serves the Proxy, whose fields must not change any more. The
// limits are those of a client: connect is for TCP and for TLS, each; 0 is none.
func (p *Proxy) Handler(connect time.Duration) http.Handler {
	if p.Dial == nil {
		p.Dial = (&net.Dialer{Timeout: connect}).DialContext
	}
	for _, route := range p.Routes {
		p.servers = append(p.servers, redact.RedactURL(p.publicURL(route.To)))
	}
	p.transport = httpconn.Prepare(&http.Transport{
		Proxy:                 p.Through,
		DialContext:           p.dial,
		TLSHandshakeTimeout:   connect,
		TLSClientConfig:       p.TLS,
		DisableCompression:    true,
		MaxIdleConnsPerHost:   256,
		WriteBufferSize:       2 << 10, // a head and a short body
		IdleConnTimeout:       idleTime,
		ExpectContinueTimeout: time.Second,
	})
	forward := &httputil.ReverseProxy{
		Rewrite:       p.rewrite,
		Transport:     p,
		FlushInterval: -1,
		BufferPool:    &buffers{},
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { p.writeError(w, r, err) },
		ErrorLog:      log.New(io.Discard, "", 0), // the recording has it
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reason := p.rejectReason(r); reason != "" {
			plainError(w, http.StatusForbidden, reason)
			return
		}
		to := p.route(r)
		if to == nil && slices.ContainsFunc(p.Routes, func(route Route) bool { return route.matches(r.URL.Path) }) {
			plainError(w, http.StatusBadRequest, `the path has a segment "." or "..", or one of . / \ in percent-encoding`)
			return
		}
		if to == nil {
			plainError(w, http.StatusNotFound, "no --to for this path")
			return
		}
		p.active.RLock()
		defer p.active.RUnlock()
		passage := &inFlight{to: to, watch: stopwatch{now: p.Watcher.o.Now}}
		ctx := context.WithValue(r.Context(), inFlightKey{}, passage)
		forward.ServeHTTP(w, r.WithContext(httptrace.WithClientTrace(ctx, passage.watch.trace())))
	})
}

// buffers are used again by the next response.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

// A passage is a request on its way: where it goes, and how long its phases take.
type inFlight struct {
	to    *destination
	watch stopwatch
}

type inFlightKey struct{}

func inFlightOf(ctx context.Context) *inFlight { return ctx.Value(inFlightKey{}).(*inFlight) }

// rewrite undoes what ReverseProxy does beyond its duty, and names the server.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	to := inFlightOf(r.In.Context()).to
	r.Out.URL = to.url
	if !p.KeepHost {
		r.Out.Host = ""
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
}

// plainError answers in the Proxy's own name, so that no client takes it for the server's
// words.
func plainError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "mcpc proxy: "+text+"\n")
}

// errItself stops a request that would go round in a circle.
var errItself = errors.New("the server is this proxy itself")

func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.Dial(ctx, network, address)
	if err == nil && conn.RemoteAddr().String() == p.Address {
		conn.Close()
		return nil, errItself
	}
	return conn, err
}

func (p *Proxy) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, errCut) {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	plainError(w, http.StatusBadGateway, inFlightOf(r.Context()).to.url.Host+": "+err.Error())
}

// Serve serves on a listener until ctx is done, and until the requests that were under way have ended. The time to
// connect is as in Handler.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener, connect time.Duration) error {
	server := &http.Server{
		Handler:           p.Handler(connect),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnContext:       connContext,
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	err := server.Serve(listener)
	server.Close()
	p.active.Lock() // no request is under way any more
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// RoundTrip forwards one request and lets the Watcher see it.
func (p *Proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	passage := inFlightOf(req.Context())
	x := p.newExchange(passage.to.target, req)
	body := &requestBody{body: req.Body, x: x}
	if req.Body == nil || req.Body == http.NoBody {
		p.Watcher.schedule(func() { x.seeRequest(wire.Frame{}) })
	} else if whole := body.readShort(req); whole != nil {
		req.Body = io.NopCloser(bytes.NewReader(whole))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
	} else {
		req.Body = body
	}
	passage.watch.start(&passage.watch.began)
	resp, err := p.send(x, req)
	if err != nil {
		if req.Body == body && req.Context().Err() == nil {
			body.readUnsent()
		}
		x.reportFailure(req.Context(), err)
		return nil, err
	}
	x.reportHead(resp, passage.watch.timing())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil // what follows is no HTTP
	}
	resp.Body = &responseBody{ReadCloser: resp.Body, ctx: req.Context(), x: x}
	if mayNameEndpoint(req, resp) {
		resp.Body = &endpointBody{ReadCloser: resp.Body, p: p, to: passage.to}
	}
	return resp, nil
}

// send sends a request to the server, and returns its response. It passes both as they are, unless there are rules or
// held messages (see faulted).
func (p *Proxy) send(x *exchange, req *http.Request) (*http.Response, error) {
	f := &faultedRequest{p: p, x: x, req: req}
	isOwn := req.Context().Value(ownKey{}) != nil
	if !isOwn && p.Desk.mayIntervene() {
		return f.send()
	}
	resp, err := p.transport.RoundTrip(req)
	if isOwn || err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	if p.Desk.mayIntervene() { // since the request was sent
		return f.applyToResponse(resp)
	}
	if isEventStream(resp) && len(compress.Codings(resp.Header)) == 0 && resp.ContentLength < 0 {
		f.watchEvents(resp)
	}
	return resp, nil
}

// isEventStream reports whether a response is a stream of server-sent events.
func isEventStream(resp *http.Response) bool {
	return wire.MediaType(resp.Header.Get("Content-Type")) == "text/event-stream"
}

// ownKey marks the context of a request that the Proxy sends itself: nothing decides about it.
type ownKey struct{}

// clientKey is the key of the client's connection in the context of a request.
type clientKey struct{}

// connContext adds the connection of a client to the context of its requests, for rules that reset it.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// errCut is how a rule ends a connection.
var errCut = errors.New("cut by a fault rule")

// fail tells of an error on the way, and whose it was.
func (x *exchange) reportFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		x.reportEnd(wire.Sent, "cancelled", "the client disconnected")
		return
	}
	x.reportEnd(wire.Received, "cut", err.Error())
}

// A requestBody is the body of a request while it is read in order to be sent.
type requestBody struct {
	body io.Reader // http.Server closes it
	x    *exchange

	// ahead are bytes that were read before the rest, and failed is the error behind them.
	prefix    []byte
	prefixErr error
	// mu keeps the transport from reading what unsent reads.
	mu           sync.Mutex
	read, closed bool
	// ended is set at the body's end. The transport reads on behind it, and the body is
	// closed already then where the response was quick.
	ended bool
}

func (b *requestBody) Read(to []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.readLocked(to)
}

func (b *requestBody) readLocked(to []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	b.read = true
	n, err := b.next(to)
	b.ended = errors.Is(err, io.EOF)
	if b.ended {
		b.x.request.writeLast(to[:n], false)
	} else {
		b.x.request.write(to[:n])
	}
	return n, err
}

func (b *requestBody) next(to []byte) (int, error) {
	if len(b.prefix) == 0 && b.prefixErr == nil {
		return b.body.Read(to)
	}
	n := copy(to, b.prefix)
	b.prefix = b.prefix[n:]
	if len(b.prefix) > 0 {
		return n, nil
	}
	return n, b.prefixErr
}

// maxAtOnce is how many bytes of a request's body are read before it is sent.
const maxShortBody = 16 << 10

// atOnce returns a short body that is there as a whole, as nearly all are, and nil for any other,
// which is then read as it comes. Of a request that waits for leave nothing is read here.
func (b *requestBody) readShort(req *http.Request) []byte {
	if req.ContentLength <= 0 || req.ContentLength > maxShortBody || req.Header["Expect"] != nil || len(req.Trailer) > 0 {
		return nil
	}
	whole := make([]byte, req.ContentLength)
	n, err := b.body.Read(whole)
	if n < len(whole) || err != nil && !errors.Is(err, io.EOF) {
		b.prefix = whole[:n]
		b.prefixErr = err
		return nil
	}
	b.read = true
	b.ended = true
	b.x.request.writeLast(whole, true)
	return whole
}

// Close is called by the transport, which sends nothing more of it.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// unsent reads a body that found no way to the server, so that the recording says
// what was asked.
func (b *requestBody) readUnsent() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if !b.read {
		_, _ = io.Copy(io.Discard, io.LimitReader(readerFunc(b.readLocked), maxMessage))
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(to []byte) (int, error) { return f(to) }

// A responseBody is the body of a response while it is read in order to be handed
// on.
type responseBody struct {
	io.ReadCloser
	ctx   context.Context
	x     *exchange
	ended bool
}

func (b *responseBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if !b.ended && errors.Is(err, io.EOF) {
		b.ended = true
		b.x.reportEndAfter(to[:n], wire.Received, "end", "")
		return n, err
	}
	b.x.response.write(to[:n])
	if !b.ended && err != nil {
		b.ended = true
		b.x.reportFailure(b.ctx, err)
	}
	return n, err
}

// Close comes before the end where the client went away.
func (b *responseBody) Close() error {
	if !b.ended {
		b.ended = true
		b.x.reportEnd(wire.Sent, "cancelled", "the client disconnected")
	}
	return b.ReadCloser.Close()
}

// refuses says why a request is not forwarded, or nothing.
func (p *Proxy) rejectReason(r *http.Request) string {
	_, port, _ := net.SplitHostPort(p.Address)
	_, hostPort, err := net.SplitHostPort(r.Host)
	if err != nil {
		hostPort = "80"
	}
	if r.Method == http.MethodConnect || !strings.HasPrefix(r.RequestURI, "/") {
		return "requests are forwarded only to the servers of --to"
	}
	if hostPort != port {
		return "the Host field has another port: " + jsonraw.Excerpt([]byte(r.Host), 100)
	}
	return loopback.Reject(r.Host, r.Header)
}

// A stopwatch measures the phases of a request. net/http calls its trace from goroutines of its own.
type stopwatch struct {
	now func() time.Time

	mu                                      sync.Mutex
	times                                   wire.Timing
	began, dnsStart, connectStart, tlsStart time.Time
}

func (s *stopwatch) start(begin *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*begin = s.now()
}

func (s *stopwatch) stop(d *time.Duration, since *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*d = s.now().Sub(*since)
}

// trace returns the hooks that measure, and the one that httpconn needs.
func (s *stopwatch) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { _ = httpconn.GotConn(info) },
		DNSStart:             func(httptrace.DNSStartInfo) { s.start(&s.dnsStart) },
		DNSDone:              func(httptrace.DNSDoneInfo) { s.stop(&s.times.DNS, &s.dnsStart) },
		ConnectStart:         func(_, _ string) { s.start(&s.connectStart) },
		ConnectDone:          func(_, _ string, _ error) { s.stop(&s.times.Connect, &s.connectStart) },
		TLSHandshakeStart:    func() { s.start(&s.tlsStart) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { s.stop(&s.times.TLS, &s.tlsStart) },
		GotFirstResponseByte: func() { s.stop(&s.times.FirstByte, &s.began) },
	}
}

func (s *stopwatch) timing() *wire.Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.times
	return &t
}
