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

// A Network is how the user wants hosts to be reached. The zero one is the network as it
// is, and no proxy.
type Network struct {
	// Server is the "host:port" of the MCP server, to which alone ServerTLS belongs:
	// hosts that it names get no certificate of the user's, and have to prove who they
	// are. TLS is for all others. Either may be nil.
	Server         string
	ServerTLS, TLS *tls.Config
	// Proxy finds the proxy for a request. The proxy's own address is the user's choice;
	// the names of others are looked up by the proxy.
	Proxy func(*http.Request) (*url.URL, error)
	// Pinned reports a "host:port" to which the user himself gave an address; Dial
	// goes there, and to proxies. What is pinned may be in any network.
	Pinned func(address string) bool
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Limit is how long one request may take, where that is shorter than usual.
	Limit time.Duration
}

// within is the usual time, or the user's where he has less.
func (w Network) within(usual time.Duration) time.Duration {
	if w.Limit > 0 {
		return min(w.Limit, usual)
	}
	return usual
}

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

// byServer keeps what is for the MCP server from all other hosts.
type byServer struct {
	server             string
	theServers, others *http.Transport
}

func (b byServer) RoundTrip(req *http.Request) (*http.Response, error) {
	if network.HostPort(req.URL) == b.server {
		return b.theServers.RoundTrip(req)
	}
	return b.others.RoundTrip(req)
}

func (b byServer) CloseIdleConnections() {
	b.theServers.CloseIdleConnections()
	b.others.CloseIdleConnections()
}
