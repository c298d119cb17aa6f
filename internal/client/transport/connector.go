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
	Dial network.DialFunc
	Pins network.Pins
	// Proxy finds the proxy for a request.
	Proxy network.ProxyFunc
	// TLS is that of Certificates; nil believes the system's authorities.
	TLS *tls.Config
	// Through may wrap what sends requests; nil does not.
	Through func(http.RoundTripper) http.RoundTripper
	// Clock is held by Pause.
	Clock Clock
}

// A Connector has the HTTP connections of a session, which all its transports share.
type Connector struct {
	dial  network.DialFunc
	proxy network.ProxyFunc
	wires *http.Transport
	web   http.RoundTripper
	rec   *Recorder
	clock Clock
	// asked is set when the server asked for a certificate, unshown when there was none.
	asked, unshown atomic.Bool
	// closesEach is set when the server closed a connection that was to be reused.
	closesEach atomic.Bool
	// answered is set when the server has answered a POST with a 2xx status.
	answered atomic.Bool
	cookies  cookies
}

// NewConnector makes a Connector that has no connection yet.
func NewConnector(opt ConnectorOptions, rec *Recorder) *Connector {
	dial := opt.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: max(opt.Connect, 0), KeepAlive: 30 * time.Second}).DialContext
	}
	c := &Connector{dial: opt.Pins.Over(dial), proxy: opt.Pins.Directly(opt.Proxy), rec: rec, clock: opt.Clock}
	c.wires = c.newWires(opt)
	c.web = recordedTransport{c.wires, rec}
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
		TLSClientConfig: network.WithCertificateHook(opt.TLS, func(shown bool) {
			c.asked.Store(true)
			c.unshown.Store(!shown)
		}),
		MaxResponseHeaderBytes: 4 * maxHeader,
		MaxIdleConnsPerHost:    256, // requests in parallel: what is not kept is dialed again
		IdleConnTimeout:        idleTime,
		ReadBufferSize:         8 << 10,
	})
}

// roundTrip sends one request and follows no redirect, because a POST may become a GET and
// header fields with secrets would be sent too; nor does it read where a redirect leads, as
// an http.Client does. ConnectorOptions.Through wraps the recorder, so that what is
// recorded is what crosses.
func (c *Connector) roundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.web.RoundTrip(req)
	if err == nil {
		c.cookies.keep(req.URL, resp, c.rec.Now)
	}
	return resp, err
}
