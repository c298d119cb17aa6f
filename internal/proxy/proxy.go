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

// A Proxy forwards HTTP requests to the servers of its Routes and copies the traffic to a Watcher. It
// forwards bytes as soon as it reads them. It changes only what HTTP requires of a proxy (RFC 9110,
// section 7.6), and the address in the first event of the old transport (see endpoint.go). It follows
// no redirects and does not ask for compression; a compressed body is forwarded unchanged, and a copy
// is decoded. Header fields keep their names and values, but not their order.
//
// The Authorization field is forwarded: it is meant for the server, and goes nowhere else.
type Proxy struct {
	// Routes are the servers. A route without a Path serves the requests that match no other route.
	Routes []Route
	// Address is where the Proxy listens, HOST:PORT. Requests with a Host field of another port are
	// rejected.
	Address string
	// Watcher receives the copy of the traffic. It must not be nil.
	Watcher *Watcher
	// Dial opens connections to the servers; nil means a net.Dialer. UpstreamProxy returns the
	// proxy for a request; nil means no proxy. TLS configures connections to the servers; nil means
	// the defaults.
	Dial          func(ctx context.Context, network, address string) (net.Conn, error)
	UpstreamProxy func(*http.Request) (*url.URL, error)
	TLS           *tls.Config
	// Desk decides which messages are held or changed. It must not be nil; a Desk without rules and
	// filters changes nothing.
	Desk *Desk
	// KeepHost forwards the client's Host field.
	KeepHost bool

	transport http.RoundTripper
	// servers are the names of the Routes' servers in filters.
	servers []string
	// active is read-locked during each request.
	active  sync.RWMutex
	streams atomic.Int64 // the number of the last stream
	conns   conns        // used only by the Watcher's goroutine
	// mu guards endpoints: the endpoints that servers of the old HTTP+SSE transport have named, by
	// the request URI of the client.
	mu        sync.Mutex
	endpoints recent.Map[string, *destination]
}

// A Route forwards the requests below Path to the URL To. Without a Path it forwards every request,
// with the path unchanged.
type Route struct {
	Path string
	To   *url.URL
}

// idleTime is how long a connection is kept idle. It is shorter than the idle time of servers.
const idleTime = 4 * time.Second

// Handler returns the handler of the Proxy. The Proxy's fields must not change afterwards. Connect
// limits the time to connect and the time of the TLS handshake; 0 is no limit.
func (p *Proxy) Handler(connect time.Duration) http.Handler {
	if p.Dial == nil {
		p.Dial = (&net.Dialer{Timeout: connect}).DialContext
	}
	for _, route := range p.Routes {
		p.servers = append(p.servers, redact.RedactURL(p.publicURL(route.To)))
	}
	p.transport = httpconn.Prepare(&http.Transport{
		Proxy:                 p.UpstreamProxy,
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
		FlushInterval: -1, // after each write
		BufferPool:    &buffers{},
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { p.writeError(w, r, err) },
		ErrorLog:      log.New(io.Discard, "", 0), // errors are recorded
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, status, reason := p.admit(r)
		if to == nil {
			plainError(w, status, reason)
			return
		}
		p.active.RLock()
		defer p.active.RUnlock()
		flight := &inFlight{to: to, watch: stopwatch{now: p.Watcher.options.Now}}
		ctx := context.WithValue(r.Context(), inFlightKey{}, flight)
		forward.ServeHTTP(w, r.WithContext(httptrace.WithClientTrace(ctx, flight.watch.trace())))
	})
}

// admit returns the destination of a request. If the request is rejected, it returns nil with the status
// of the response and the reason.
func (p *Proxy) admit(r *http.Request) (to *destination, status int, reason string) {
	if reason := p.rejectReason(r); reason != "" {
		return nil, http.StatusForbidden, reason
	}
	if to := p.route(r); to != nil {
		return to, 0, ""
	}
	// route also refuses an ambiguous path that has a route.
	if slices.ContainsFunc(p.Routes, func(route Route) bool { return route.matches(r.URL.Path) }) {
		return nil, http.StatusBadRequest, `the path has a segment "." or "..", or one of . / \ in percent-encoding`
	}
	return nil, http.StatusNotFound, "no --to for this path"
}

// buffers is the pool of copy buffers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if buf, ok := b.pool.Get().(*[]byte); ok {
		return *buf
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buf []byte) { b.pool.Put(&buf) }

// An inFlight is a request that is being forwarded: its destination, and the time of its phases.
type inFlight struct {
	to    *destination
	watch stopwatch
}

type inFlightKey struct{}

func inFlightOf(ctx context.Context) *inFlight { return ctx.Value(inFlightKey{}).(*inFlight) }

// rewrite sets the server's URL, and undoes the changes of ReverseProxy that are not required: it
// removes the Forwarded fields.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	to := inFlightOf(r.In.Context()).to
	r.Out.URL = to.serverURL
	if !p.KeepHost {
		r.Out.Host = ""
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = values
		}
	}
}

// plainError writes an error of the Proxy. The text names the Proxy, so that the error is not
// mistaken for the server's.
func plainError(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "mcpc proxy: "+text+"\n")
}

// errItself rejects a request that would be forwarded to the Proxy again.
var errItself = errors.New("the server is this proxy itself")

// dial opens a connection to a server, unless the server is the Proxy itself.
func (p *Proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.Dial(ctx, network, address)
	if err == nil && conn.RemoteAddr().String() == p.Address {
		conn.Close()
		return nil, errItself
	}
	return conn, err
}

// writeError responds to a request that could not be forwarded. It panics to close the connection if
// the client has disconnected or a rule cut the connection.
func (p *Proxy) writeError(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, errCut) {
		panic(http.ErrAbortHandler)
	}
	plainError(w, http.StatusBadGateway, inFlightOf(r.Context()).to.serverURL.Host+": "+err.Error())
}

// Serve serves on a listener until ctx is done and the active requests have ended. Connect is the
// time limit of Handler.
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
	p.active.Lock() // waits for the active requests, which are recorded to their ends
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// RoundTrip forwards one request and copies it and its response to the Watcher. The request's context
// must contain its inFlight. RoundTrip replaces the request's body, against the contract of
// http.RoundTripper: ReverseProxy made the request for this call.
func (p *Proxy) RoundTrip(req *http.Request) (*http.Response, error) {
	flight := inFlightOf(req.Context())
	x := p.newExchange(flight.to.target, req)
	body := x.copyRequestBody(req)
	flight.watch.start(&flight.watch.began)
	resp, err := p.send(x, req)
	if err != nil {
		// The recording has the request even if the server did not receive it.
		if body != nil && req.Body == body && req.Context().Err() == nil {
			body.readUnsent()
		}
		x.reportFailure(req.Context(), err)
		return nil, err
	}
	x.reportHead(resp, flight.watch.timing())
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil // no HTTP after this response
	}
	resp.Body = &responseBody{ReadCloser: resp.Body, ctx: req.Context(), x: x}
	if mayNameEndpoint(req, resp) {
		resp.Body = &endpointBody{ReadCloser: resp.Body, proxy: p, destination: flight.to}
	}
	return resp, nil
}

// copyRequestBody copies the request's body to x: at once if it is short, else while the transport reads
// it. Then it returns the body that copies, which is the new body of req; otherwise it returns nil.
func (x *exchange) copyRequestBody(req *http.Request) *requestBody {
	if req.Body == nil || req.Body == http.NoBody {
		x.p.Watcher.schedule(func() { x.seeRequest(wire.Frame{}) })
		return nil
	}
	body := &requestBody{body: req.Body, x: x}
	if whole := body.readShort(req); whole != nil {
		req.Body = io.NopCloser(bytes.NewReader(whole))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(whole)), nil }
		return nil
	}
	req.Body = body
	return body
}

// send sends a request to the server and returns the response. Both pass unchanged unless there are
// rules or filters (see faultedRequest).
func (p *Proxy) send(x *exchange, req *http.Request) (*http.Response, error) {
	f := &faultedRequest{p: p, x: x, req: req}
	isOwn := req.Context().Value(ownKey{}) != nil // see respondToServer
	if !isOwn && p.Desk.mayIntervene() {
		return f.send()
	}
	resp, err := p.transport.RoundTrip(req)
	if isOwn || err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	if p.Desk.mayIntervene() { // a rule or filter was added meanwhile
		return f.applyToResponse(resp)
	}
	// A rule or filter that is added later applies to the events that follow.
	if isEventStream(resp) && len(compress.Codings(resp.Header)) == 0 && resp.ContentLength < 0 {
		f.watchEvents(resp)
	}
	return resp, nil
}

// isEventStream reports whether a response is a stream of server-sent events.
func isEventStream(resp *http.Response) bool {
	return wire.MediaType(resp.Header.Get("Content-Type")) == "text/event-stream"
}

// ownKey marks the context of a request that the Proxy sends itself. The Desk does not decide about
// it.
type ownKey struct{}

// clientKey is the context key of the client's connection.
type clientKey struct{}

// connContext adds the client's connection to the context of its requests, for rules that reset it.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// errCut ends a connection that a rule cuts.
var errCut = errors.New("cut by a fault rule")

// reportFailure reports an error while forwarding, and which side caused it.
func (x *exchange) reportFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		x.reportEnd(wire.Sent, "cancelled", "the client disconnected")
		return
	}
	x.reportEnd(wire.Received, "cut", err.Error())
}

// A requestBody is the request's body. It copies to the exchange what the transport reads.
type requestBody struct {
	body io.Reader // http.Server closes it
	x    *exchange

	// prefix holds bytes that were read already; prefixErr is the error after them, if any.
	prefix    []byte
	prefixErr error
	// mu serializes the reads of the transport and of readUnsent.
	mu           sync.Mutex
	read, closed bool
	// ended is set at the end of the body. The transport may read once more, after Close.
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

// readLocked reads the body and copies what it read to the exchange. b.mu is locked.
func (b *requestBody) readLocked(to []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	b.read = true
	n, err := b.readSource(to)
	b.ended = errors.Is(err, io.EOF)
	if b.ended {
		b.x.request.writeLast(to[:n], copiesBytes)
	} else {
		b.x.request.write(to[:n])
	}
	return n, err
}

// readSource reads the prefix first, then the body.
func (b *requestBody) readSource(to []byte) (int, error) {
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

// maxShortBody is how many bytes of a body are read before the request is sent.
const maxShortBody = 16 << 10

// readShort returns the complete body if it is short and available at once, as most are. It returns
// nil otherwise; the body is then read while it is sent. It reads nothing if the client expects
// "100 Continue", because a read would send that response before the server did.
func (b *requestBody) readShort(req *http.Request) []byte {
	if req.ContentLength <= 0 || req.ContentLength > maxShortBody || req.Header["Expect"] != nil || len(req.Trailer) > 0 {
		return nil
	}
	whole := make([]byte, req.ContentLength)
	n, err := b.body.Read(whole)
	// Not all of the body is there yet: Read returns these bytes first.
	if n < len(whole) || err != nil && !errors.Is(err, io.EOF) {
		b.prefix = whole[:n]
		b.prefixErr = err
		return nil
	}
	b.read = true
	b.ended = true
	b.x.request.writeLast(whole, keepsBytes)
	return whole
}

// Close ends the reads of the transport. It leaves the body open: http.Server closes it.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// readUnsent reads a body so that it is recorded, unless the transport has begun to read it.
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

// A responseBody is the response's body. It copies to the exchange what the client receives.
type responseBody struct {
	io.ReadCloser
	ctx   context.Context
	x     *exchange
	ended bool
}

// Read copies to the exchange what it returns, and reports the end of the body or the error once.
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

// Close reports that the client disconnected, if the body has not ended.
func (b *responseBody) Close() error {
	if !b.ended {
		b.ended = true
		b.x.reportEnd(wire.Sent, "cancelled", "the client disconnected")
	}
	return b.ReadCloser.Close()
}

// rejectReason returns the reason why a request is not forwarded, or "".
func (p *Proxy) rejectReason(r *http.Request) string {
	_, port, _ := net.SplitHostPort(p.Address)
	_, hostPort, err := net.SplitHostPort(r.Host)
	if err != nil {
		hostPort = "80"
	}
	// Only a forward proxy receives CONNECT or an absolute URL.
	if r.Method == http.MethodConnect || !strings.HasPrefix(r.RequestURI, "/") {
		return "requests are forwarded only to the servers of --to"
	}
	// A page of another origin could reach the Proxy by DNS rebinding.
	if hostPort != port {
		return "the Host field has another port: " + jsonraw.Excerpt([]byte(r.Host), 100)
	}
	return loopback.RejectionReason(r.Host, r.Header)
}

// A stopwatch measures the phases of a request. Its methods may be called concurrently, as net/http
// calls the hooks from several goroutines.
type stopwatch struct {
	now func() time.Time

	mu                                      sync.Mutex
	times                                   wire.Timing
	began, dnsStart, connectStart, tlsStart time.Time
}

// start sets the begin of a phase.
func (s *stopwatch) start(begin *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*begin = s.now()
}

// stop sets d to the duration of a phase that began at since.
func (s *stopwatch) stop(duration *time.Duration, since *time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*duration = s.now().Sub(*since)
}

// trace returns the hooks that measure, with the hook that httpconn needs.
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

// timing returns the phases measured so far.
func (s *stopwatch) timing() *wire.Timing {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.times
	return &t
}
