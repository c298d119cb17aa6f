package auth

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"mcpc/internal/client/network"
)

// A Network is how hosts are reached. The zero value uses the system's network without a proxy.
type Network struct {
	// Server is the "host:port" of the MCP server. ServerTLS is for that host only, so that other hosts
	// do not get the user's certificate and have to prove their identity. TLS is for all other hosts.
	// Both may be nil.
	Server         string
	ServerTLS, TLS *tls.Config
	// Proxy returns the proxy for a request. The proxy's address is the user's choice; the proxy
	// resolves the names of other hosts.
	Proxy func(*http.Request) (*url.URL, error)
	// Pinned reports whether the user set the address of a "host:port". Dial connects to pinned hosts
	// and to proxies. A pinned host may be in any network.
	Pinned func(address string) bool
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Limit, if positive, limits the time of a request.
	Limit time.Duration
}

// within returns the shorter of usual and the user's limit.
func (w Network) within(usual time.Duration) time.Duration {
	if w.Limit > 0 {
		return min(w.Limit, usual)
	}
	return usual
}

// withDefaults returns w with a default for each function that is nil.
func (w Network) withDefaults() Network {
	if w.Proxy == nil {
		w.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	}
	if w.Pinned == nil {
		w.Pinned = func(string) bool { return false }
	}
	if w.Dial == nil {
		w.Dial = (&net.Dialer{Timeout: fetchTime}).DialContext
	}
	return w
}

// A byServer is a round tripper that sends to the MCP server with serverOnly, and to other hosts
// with others.
type byServer struct {
	server             string
	serverOnly, others *http.Transport
}

// RoundTrip sends a request with the transport for its host.
func (b byServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if network.HostPort(req.URL) == b.server {
		return b.serverOnly.RoundTrip(req)
	}
	return b.others.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of both transports.
func (b byServer) CloseIdleConnections() {
	b.serverOnly.CloseIdleConnections()
	b.others.CloseIdleConnections()
}
