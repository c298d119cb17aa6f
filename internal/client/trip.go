package client

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A DialFunc opens a connection, as net.Dialer.DialContext does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// maxHeader bounds a response's header. net/http is told a higher number,
// because what it refuses itself it does not name.
const maxHeader = 256 << 10

// newHTTPClient has no overall timeout, which would cut long streams; no
// transparent compression, which would hold events back; and follows no
// redirect, because a POST may become a GET and header fields with secrets
// would go along.
func newHTTPClient(limits Limits, dial DialFunc) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: max(limits.Connect, 0), KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dial,
			OnProxyConnectResponse: refusedTunnel,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true,
			TLSHandshakeTimeout:    max(limits.Connect, 0),
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: 4 * maxHeader,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        60 * time.Second,
		},
	}
}

// trip is one HTTP request and what is known of how far it got.
type trip struct {
	stream  int
	req     *http.Request
	resp    *http.Response
	now     func() time.Time
	started time.Time

	// net/http traces from goroutines of its own, also after the response came.
	mu     sync.Mutex
	wrote  bool
	timing wire.Timing
	phases map[string]time.Time
}

// traced notes the phases of time and whether the request left the machine.
// WroteHeaders comes before the body is sent, and no server can act on less than
// the header; GetConn comes again only when net/http tries a second connection,
// which it does only when nothing was written to the first.
func (tr *trip) traced(ctx context.Context) context.Context {
	tr.phases = map[string]time.Time{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { tr.setWrote(false) },
		DNSStart:             func(httptrace.DNSStartInfo) { tr.begin("dns") },
		DNSDone:              func(httptrace.DNSDoneInfo) { tr.done("dns", &tr.timing.DNS) },
		ConnectStart:         func(string, string) { tr.begin("connect") },
		ConnectDone:          func(string, string, error) { tr.done("connect", &tr.timing.Connect) },
		TLSHandshakeStart:    func() { tr.begin("tls") },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { tr.done("tls", &tr.timing.TLS) },
		WroteHeaders:         func() { tr.setWrote(true) },
		GotFirstResponseByte: func() { tr.done("", &tr.timing.FirstByte) },
	})
}

func (tr *trip) begin(phase string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.phases[phase] = tr.now()
}

// done ends a phase; "" is the one that began with the request.
func (tr *trip) done(phase string, took *time.Duration) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	from, ok := tr.phases[phase]
	if !ok {
		from = tr.started
	}
	*took = tr.now().Sub(from)
}

func (tr *trip) setWrote(wrote bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.wrote = wrote
}

func (tr *trip) left() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.wrote
}

func (tr *trip) timings() *wire.Timing {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	timing := tr.timing
	return &timing
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

func kib(n int) string { return fmt.Sprintf("%d KiB", n>>10) }

// A proxyRefusal is a proxy's answer to CONNECT that opens no tunnel.
type proxyRefusal struct{ status string }

func (e proxyRefusal) Error() string { return "the proxy answered " + e.status }

func refusedTunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode/100 != 2 {
		return proxyRefusal{resp.Status}
	}
	return nil
}
