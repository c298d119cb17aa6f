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
	"mcpc/internal/httpconn"
)

// defaultRate is the number of requests a second that check sends to a server on another machine.
const defaultRate = 5.0

// A pacer sends HTTP requests no faster than the rate allows and no more than maxRequests, and
// stops after a server reported that it is overloaded. It also records what the responses show of
// the connection.
type pacer struct {
	// maxRequests is 0 without a limit.
	maxRequests int
	// countSent returns the number of requests so far, on all connections.
	countSent func() int
	now       func() time.Time
	// meanGap is the mean time between two requests; 0 without a limit of the rate.
	meanGap time.Duration
	rand    *rand.Rand

	// mu guards the fields below.
	mu sync.Mutex
	// next is the earliest time of the next request.
	next time.Time
	// stopped says why no more requests are sent; "" while they are. isOverloaded is set if the server stopped
	// them by HTTP 429 or 503, and pause is how long it asked to wait then, or 0.
	stopped      string
	isOverloaded bool
	pause        time.Duration
	observed     connectionFacts
}

// connectionFacts are what the responses showed of the connection.
type connectionFacts struct {
	Address      string               // of the first connection
	TLS          *tls.ConnectionState // of the first response, like Status and Proto; nil without TLS
	Status       int                  // 0 before the first response
	Proto        string
	Unauthorized bool        // the server returned HTTP 401
	Challenge    http.Header // the header of the last such answer
	Session      string      // the last session id that a response had
}

// newPacer returns a pacer for the server at endpoint. sent returns the number of requests so far.
func (o *Options) newPacer(endpoint string, sent func() int, now func() time.Time) *pacer {
	p := &pacer{maxRequests: o.MaxRequests, countSent: sent, now: now, rand: rand.New(rand.NewPCG(uint64(o.seed), 0))}
	if rate := o.requestsPerSecond(cmdutil.IsLocal(endpoint)); rate > 0 {
		p.meanGap = time.Duration(float64(time.Second) / rate)
	}
	return p
}

// wrap returns a transport that paces the requests after inner has added credentials; inner may be
// nil.
func (p *pacer) wrap(inner func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		if inner != nil {
			base = inner(base)
		}
		return pacedTransport{p, base}
	}
}

// A pacedTransport sends requests through base at the times of the pacer.
type pacedTransport struct {
	*pacer
	base http.RoundTripper
}

// RoundTrip waits for the time of the request, sends it, and records what its response shows. It returns
// an error without sending if no more requests may be sent.
func (t pacedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wait, err := t.reserve()
	if err == nil && wait > 0 && !transport.Sleep(req.Context(), wait) {
		err = req.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { t.recordAddress(info.Conn.RemoteAddr().String()) },
	}
	resp, err := t.base.RoundTrip(req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if err == nil {
		t.recordResponse(resp)
	}
	return resp, err
}

// reserve reserves the time of the next request, and returns how long to wait for it. The error
// says why no more requests are sent.
func (p *pacer) reserve() (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == "" && p.maxRequests > 0 && p.countSent() >= p.maxRequests {
		p.stopped = fmt.Sprintf("stopped after %d requests (--max-requests)", p.maxRequests)
	}
	if p.stopped != "" {
		return 0, errors.New(p.stopped)
	}
	now := p.now()
	wait := max(0, p.next.Sub(now))
	if p.meanGap > 0 {
		// The gaps vary between 3/4 and 5/4 of their mean.
		jitter := time.Duration(p.rand.Int64N(int64(p.meanGap/2) + 1))
		p.next = now.Add(wait + p.meanGap*3/4 + jitter)
	}
	return wait, nil
}

// recordAddress records the address of the first connection.
func (p *pacer) recordAddress(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.observed.Address == "" {
		p.observed.Address = address
	}
}

// recordResponse records what a response shows, and stops the requests if the server is overloaded.
func (p *pacer) recordResponse(resp *http.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.observed.Status == 0 {
		p.observed.Status = resp.StatusCode
		p.observed.Proto = resp.Proto
		p.observed.TLS = resp.TLS
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.observed.Session = id
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		p.observed.Unauthorized = true
		p.observed.Challenge = resp.Header
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.isOverloaded = true
		p.stopped = "stopped: the server returned HTTP " + strconv.Itoa(resp.StatusCode)
		if after := strings.TrimSpace(resp.Header.Get("Retry-After")); after != "" {
			p.pause, _ = httpconn.RetryAfter(after, p.now())
			if strings.Trim(after, "0123456789") == "" { // else it is a date
				after += " s"
			}
			p.stopped += ", retry after " + after
		}
	}
}

// whyStopped returns why no more requests are sent, "" while they are.
func (p *pacer) whyStopped() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// overload returns why an overloaded server stopped the requests, and how long it asked to wait, or 0. It
// returns "" if no server did.
func (p *pacer) overload() (why string, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isOverloaded {
		return "", 0
	}
	return p.stopped, p.pause
}

// resume lets requests be sent again after a pause that an overloaded server asked for.
func (p *pacer) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = ""
	p.isOverloaded = false
	p.pause = 0
}

// facts returns what the responses showed so far.
func (p *pacer) facts() connectionFacts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observed
}
