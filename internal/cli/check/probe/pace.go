package probe

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client/transport"
)

// defaultRate is how many requests a second a server elsewhere gets.
const defaultRate = 5.0

// A Pace sends HTTP requests no faster than the rate allows and no more than MaxRequests, and
// none after a server said that it is overloaded. It notes what the first response shows.
type Pace struct {
	most int
	sent func() int
	now  func() time.Time
	gap  time.Duration
	rand *rand.Rand

	mu   sync.Mutex
	next time.Time
	// why no more requests are sent; "" while they are.
	why  string
	seen Facts
}

// Facts are what responses showed of the connection.
type Facts struct {
	Address   string
	TLS       *tls.ConnectionState
	Status    int
	Proto     string
	Asked     bool // for authorization: HTTP 401
	Challenge http.Header
	Session   string // the session id of the last response that had one
}

// Pace makes one for a server; sent says how many requests were sent so far.
func (o *Options) Pace(endpoint string, sent func() int, now func() time.Time) *Pace {
	p := &Pace{most: o.MaxRequests, sent: sent, now: now, rand: rand.New(rand.NewPCG(uint64(o.seed), 0))}
	if rate := o.perSecond(cmdutil.IsLocal(endpoint)); rate > 0 {
		p.gap = time.Duration(float64(time.Second) / rate)
	}
	return p
}

// Over puts the pace around what adds the credentials.
func (p *Pace) Over(inner func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		if inner != nil {
			base = inner(base)
		}
		return pacedTransport{p, base}
	}
}

type pacedTransport struct {
	*Pace
	base http.RoundTripper
}

func (t pacedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wait, err := t.turn()
	if err == nil && wait > 0 && !transport.Sleep(req.Context(), wait) {
		err = req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { t.connected(info.Conn.RemoteAddr().String()) },
	}
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		t.note(resp)
	}
	return resp, err
}

// turn is how long the next request has to wait. The error says why none is sent any more.
func (p *Pace) turn() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		if p.most > 0 && p.sent() >= p.most {
			p.why = fmt.Sprintf("stopped after %d requests (--max-requests)", p.most)
		}
	}
	if p.why != "" {
		return 0, errors.New(p.why)
	}
	now := p.now()
	wait := max(0, p.next.Sub(now))
	if p.gap > 0 {
		p.next = now.Add(wait + p.gap*3/4 + time.Duration(p.rand.Int64N(int64(p.gap/2)+1)))
	}
	return wait, nil
}

func (p *Pace) connected(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.Address == "" {
		p.seen.Address = address
	}
}

func (p *Pace) note(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen.Status == 0 {
		p.seen.Status = resp.StatusCode
		p.seen.Proto = resp.Proto
		p.seen.TLS = resp.TLS
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.seen.Session = id
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		p.seen.Asked = true
		p.seen.Challenge = resp.Header
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.why = "stopped: the server answered HTTP " + strconv.Itoa(resp.StatusCode)
		if after := strings.TrimSpace(resp.Header.Get("Retry-After")); after != "" {
			p.why += ", retry after " + after
		}
	}
}

// Stopped says why no more requests are sent; "" while they are.
func (p *Pace) Stopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// Facts are what was seen so far.
func (p *Pace) Facts() Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}
