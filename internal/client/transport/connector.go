package transport

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"mcpc/internal/client/network"
	"mcpc/internal/httpconn"
)

// maxHeader limits a response's header in bytes. net/http gets a higher limit, because its own error
// does not name the cause.
const maxHeader = 256 << 10

// idleTime is how long an unused connection stays open. It is shorter than the limit of common
// servers (5 s for Node), so that a server does not close a connection while a request is on its
// way.
const idleTime = 4 * time.Second

// A Clock measures how long a server is silent. Hold stops it until Release is called.
type Clock interface {
	Hold()
	Release()
}

// ConnectorOptions configure a Connector.
type ConnectorOptions struct {
	// Connect limits the total time of DNS, TCP and TLS.
	Connect time.Duration
	// Dial opens connections; nil uses the machine's network. Pins replaces the address of some hosts.
	Dial network.DialFunc
	Pins network.Pins
	// Proxy finds the proxy for a request.
	Proxy network.ProxyFunc
	// TLS is the configuration that network.Certificates returns; nil uses the system's authorities.
	TLS *tls.Config
	// Through, if not nil, wraps the round tripper that sends requests.
	Through func(http.RoundTripper) http.RoundTripper
	// Clock is stopped by Pause.
	Clock Clock
}

// A Connector holds the HTTP connections of a session. All transports of the session share it.
type Connector struct {
	dial   network.DialFunc
	proxy  network.ProxyFunc
	base   *http.Transport
	sender http.RoundTripper
	rec    *Recorder
	clock  Clock
	// certRequested is set when the server requests a client certificate, certMissing when mcpc had
	// no certificate to send.
	certRequested, certMissing atomic.Bool
	// closesConnections is set when the server closes a connection that was to be reused. No connection is
	// reused after that.
	closesConnections atomic.Bool
	// answeredPOST is set when the server answers a POST with a 2xx status.
	answeredPOST atomic.Bool
	cookies      cookies
}

// NewConnector returns a Connector without open connections.
func NewConnector(opt ConnectorOptions, rec *Recorder) *Connector {
	dial := opt.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: max(opt.Connect, 0), KeepAlive: 30 * time.Second}).DialContext
	}
	c := &Connector{dial: opt.Pins.WrapDial(dial), proxy: opt.Pins.WrapProxy(opt.Proxy), rec: rec, clock: opt.Clock}
	c.base = c.newBaseTransport(opt)
	c.sender = recordedTransport{c.base, rec}
	if opt.Through != nil {
		c.sender = opt.Through(c.sender)
	}
	return c
}

// CloseIdle closes the connections that no request uses.
func (c *Connector) CloseIdle() { c.base.CloseIdleConnections() }

// newBaseTransport returns a transport without an overall timeout, which would cut long streams, and without
// transparent compression, which would delay events.
func (c *Connector) newBaseTransport(opt ConnectorOptions) *http.Transport {
	return httpconn.Prepare(&http.Transport{
		Proxy:       c.proxy,
		DialContext: c.dial,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode/100 != 2 {
				return proxyRefusal{resp.StatusCode, resp.Status}
			}
			return nil
		},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		TLSHandshakeTimeout: max(opt.Connect, 0),
		TLSClientConfig: network.WithCertificateHook(opt.TLS, func(hasOwn bool) {
			c.certRequested.Store(true)
			c.certMissing.Store(!hasOwn)
		}),
		MaxResponseHeaderBytes: 4 * maxHeader,
		MaxIdleConnsPerHost:    256, // requests in parallel: what is not kept is dialed again
		IdleConnTimeout:        idleTime,
		ReadBufferSize:         8 << 10,
	})
}

// roundTrip sends one request and stores the cookies of the response. Unlike http.Client it follows
// no redirect: a POST could become a GET, and header fields with secrets would go to another server.
// It sends through ConnectorOptions.Through, which wraps the recorder, so that the recording has the
// bytes as they are sent.
func (c *Connector) roundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.sender.RoundTrip(req)
	if err == nil {
		c.cookies.store(req.URL, resp, c.rec.Now)
	}
	return resp, err
}
