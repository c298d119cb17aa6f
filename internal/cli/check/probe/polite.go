package probe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client/auth"
	"mcpc/internal/client/transport"
)

// defaultRate is how many requests a second a server elsewhere gets.
const defaultRate = 5.0

// A polite sends HTTP requests no faster than the rate allows and no more than the budget, and
// none after a server said that it is overloaded. It notes what the first response shows.
type polite struct {
	judge *judge
	gap   time.Duration
	rand  *rand.Rand

	mu   sync.Mutex
	next time.Time
	// why no more requests are sent; "" while they are.
	why  string
	seen seenFacts
}

// seenFacts are what responses showed of the connection.
type seenFacts struct {
	address   string
	tls       *tls.ConnectionState
	status    int
	proto     string
	asked     bool // for authorization: HTTP 401
	challenge http.Header
	session   string // the session id of the last response that had one
}

func newPolite(j *judge, endpoint string) *polite {
	p := &polite{judge: j, rand: rand.New(rand.NewPCG(uint64(j.o.seed), 0))}
	if rate := j.o.perSecond(isLocal(endpoint)); rate > 0 {
		p.gap = time.Duration(float64(time.Second) / rate)
	}
	return p
}

// isLocal reports a server on this machine.
func isLocal(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return endpoint == "" || err == nil && auth.IsLocal(endpoint) || u != nil && u.Hostname() == "localhost"
}

// over puts the polite around what adds the credentials.
func (p *polite) over(inner func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		if inner != nil {
			base = inner(base)
		}
		return politeTransport{p, base}
	}
}

type politeTransport struct {
	*polite
	base http.RoundTripper
}

func (t politeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wait, err := t.turn()
	if err == nil && wait > 0 && !transport.Sleep(req.Context(), wait) {
		err = req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { t.connected(info.Conn.RemoteAddr().String()) }}
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		t.note(resp)
	}
	return resp, err
}

// turn is how long the next request has to wait. The error says why none is sent any more.
func (p *polite) turn() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		if most := p.judge.o.maxRequests; most > 0 && p.judge.requests() >= most {
			p.why = fmt.Sprintf("stopped after %d requests (--max-requests)", most)
		}
	}
	if p.why != "" {
		return 0, errors.New(p.why)
	}
	now := p.judge.f.Now()
	wait := max(0, p.next.Sub(now))
	if p.gap > 0 {
		p.next = now.Add(wait + p.gap*3/4 + time.Duration(p.rand.Int64N(int64(p.gap/2)+1)))
	}
	return wait, nil
}

func (p *polite) connected(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.address == "" {
		p.seen.address = address
	}
}

func (p *polite) note(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.status == 0 {
		p.seen.status, p.seen.proto, p.seen.tls = resp.StatusCode, resp.Proto, resp.TLS
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.seen.session = id
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		p.seen.asked, p.seen.challenge = true, resp.Header
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.why = "stopped: the server answered HTTP " + strconv.Itoa(resp.StatusCode)
		if after := strings.TrimSpace(resp.Header.Get("Retry-After")); after != "" {
			p.why += ", retry after " + after
		}
	}
}

// stopped says why no more requests are sent; "" while they are.
func (p *polite) stopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

func (p *polite) facts() seenFacts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}
