package http1

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Transport is an http.RoundTripper that behaves as the http.Transport that it was made of,
// and sends HTTP/1.1 requests itself. The http.Transport sends what is left: requests through
// a proxy, over HTTP/2, with Expect or Upgrade, invalid ones, and all where the socket of an
// idle connection cannot be examined. The proxy is looked up once for each scheme and host.
type Transport struct {
	std  *http.Transport
	tls  *tls.Config
	now  func() time.Time
	idle *pool

	mu      sync.Mutex
	servers map[serverKey]*server
	// negotiated are connections that turned out to speak HTTP/2, for the http.Transport to
	// take, by address.
	negotiated map[string]*tls.Conn
}

type serverKey struct{ scheme, host string }

// A server is the target of connections.
type server struct {
	secure     bool
	name, addr string
	// std is set when the http.Transport sends all requests to it.
	std atomic.Bool
	// idle are the connections without a request, guarded by the mutex of the pool.
	idle []*conn
}

// New returns a Transport with the fields of std, which must not be used otherwise any more. It
// closes connections that were idle for its IdleConnTimeout, which must be set, by the clock now.
func New(std *http.Transport, now func() time.Time) *Transport {
	t := &Transport{std: std, tls: std.TLSClientConfig.Clone(), now: now, servers: map[serverKey]*server{}, negotiated: map[string]*tls.Conn{}}
	t.idle = &pool{now: now, most: std.MaxIdleConnsPerHost, timeout: std.IdleConnTimeout, servers: map[*server]bool{}}
	if t.tls == nil {
		t.tls = &tls.Config{}
	}
	if std.ForceAttemptHTTP2 {
		t.tls.NextProtos = []string{"h2", "http/1.1"}
	}
	if std.DialContext == nil {
		std.DialContext = (&net.Dialer{}).DialContext
	}
	std.DialContext = checkedDial(std.DialContext)
	std.DialTLSContext = t.negotiatedOrNew
	return t
}

// CloseIdleConnections closes the connections on which no request is under way.
func (t *Transport) CloseIdleConnections() {
	t.idle.closeAll()
	t.std.CloseIdleConnections()
}

// RoundTrip sends a request, as http.Transport.RoundTrip does. A request whose reused connection
// was closed by the server is sent once more, on another one, if nothing of it was written or if
// its method only reads, and no byte of a response came.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.server(req)
	if s == nil || s.std.Load() {
		return t.std.RoundTrip(checked(observed(forStd(req))))
	}
	ctx := req.Context()
	trace, observer := httptrace.ContextClientTrace(ctx), observerOf(ctx)
	for {
		if ctx.Err() != nil {
			closeBody(req)
			return nil, context.Cause(ctx)
		}
		if trace != nil && trace.GetConn != nil {
			trace.GetConn(s.addr)
		}
		observer.GetConn()
		c, err := t.connection(ctx, s)
		if err != nil {
			closeBody(req)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if c == nil {
			return t.overHTTP2(req, s)
		}
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn, Reused: c.reused})
		}
		observer.GotConn(c.reused)
		x := &exchange{c: c, req: req, trace: trace, observer: observer}
		resp, err := x.roundTrip(t.headLimit())
		if err == nil || !x.repeatable() {
			return resp, err
		}
		if req = again(req); req == nil {
			return nil, err
		}
	}
}

// again copies req with its body from the start; nil where that is not possible.
func again(req *http.Request) *http.Request {
	if !hasBody(req) {
		return req
	}
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	fresh := *req
	fresh.Body = body
	return &fresh
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

func (t *Transport) headLimit() int64 {
	if t.std.MaxResponseHeaderBytes > 0 {
		return t.std.MaxResponseHeaderBytes
	}
	return 10 << 20 // as net/http
}

// server returns where the request goes; nil where only the http.Transport can send it.
func (t *Transport) server(req *http.Request) *server {
	if req.URL == nil || !isPlain(req) {
		return nil
	}
	key := serverKey{req.URL.Scheme, req.URL.Host}
	t.mu.Lock()
	s := t.servers[key]
	t.mu.Unlock()
	if s != nil {
		return s
	}
	if s = t.newServer(req); s == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.servers[key] == nil {
		t.servers[key] = s
	}
	return t.servers[key]
}

func (t *Transport) newServer(req *http.Request) *server {
	u := req.URL
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	if port == "" || u.Hostname() == "" || !isASCII(u.Host) {
		return nil
	}
	if u.Port() != "" {
		port = u.Port()
	}
	s := &server{secure: u.Scheme == "https", name: u.Hostname(), addr: net.JoinHostPort(u.Hostname(), port)}
	s.std.Store(!canExamine)
	if t.std.Proxy != nil {
		if proxy, err := t.std.Proxy(req); proxy != nil || err != nil {
			s.std.Store(true)
		}
	}
	return s
}

// isPlain reports a request that needs nothing but a connection: no answer before its body is
// sent, no other protocol, and valid method and header fields, which the http.Transport checks.
func isPlain(req *http.Request) bool {
	h := req.Header
	if h == nil || req.Method == http.MethodConnect || !isToken(req.Method) && req.Method != "" || h["Expect"] != nil || h["Upgrade"] != nil {
		return false
	}
	return isValid(h) && isValid(req.Trailer)
}

func isValid(h http.Header) bool {
	for name, values := range h {
		if !isToken(name) {
			return false
		}
		for _, value := range values {
			if hasControl(value) {
				return false
			}
		}
	}
	return true
}

func hasControl(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// isToken reports a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > 0x7e || r <= ' ' }) < 0
}
