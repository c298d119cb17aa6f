package probe

import (
	"context"
	"net"
	"net/url"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/lint/conv"
)

// exemptIfRemote exempts servers that need not be bound to the loopback address.
func exemptIfRemote(b *bench) string {
	if !cmdutil.IsLocal(b.cleanSession.options.Server.URL) {
		return "the server is not on this machine"
	}
	return ""
}

// probeOtherAddresses reports a local server that accepts connections on other addresses of this
// machine.
func probeOtherAddresses(ctx context.Context, b *bench) []miss {
	endpoint, urlErr := url.Parse(b.cleanSession.options.Server.URL)
	addresses, addrsErr := net.InterfaceAddrs()
	if urlErr != nil || addrsErr != nil {
		return skipRule("L084", "the addresses of this machine are unknown")
	}
	address := findReachable(ctx, otherAddresses(endpoint, addresses))
	if address == "" {
		return nil
	}
	return []miss{{
		id: "L084", subject: "the server's port", spot: b.lastSpot(b.cleanSession),
		got: "a connection to " + address, want: "none: only 127.0.0.1 and ::1",
	}}
}

// otherAddresses returns the addresses that are neither loopback nor link-local, with the port of the
// endpoint.
func otherAddresses(endpoint *url.URL, addresses []net.Addr) []string {
	port := endpoint.Port()
	if port == "" && endpoint.Scheme == "https" {
		port = "443"
	} else if port == "" {
		port = "80"
	}
	var others []string
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			others = append(others, net.JoinHostPort(network.IP.String(), port))
		}
	}
	return others
}

// findReachable returns the first address that accepts a TCP connection, or "".
func findReachable(ctx context.Context, addresses []string) string {
	dialer := net.Dialer{Timeout: time.Second}
	for _, address := range addresses {
		if c, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			c.Close()
			return address
		}
	}
	return ""
}

// judgeAccess judges a server on the network: whether it speaks https and asks for credentials.
func judgeAccess(_ context.Context, b *bench) []miss {
	var misses []miss
	u, err := url.Parse(b.cleanSession.options.Server.URL)
	if err == nil && u.Scheme == "http" {
		misses = append(misses, miss{
			id: "L085", subject: "the URL", got: "http", want: "https", severity: conv.Error, spot: b.lastSpot(b.cleanSession),
		})
	}
	if !b.pacer.facts().Unauthorized && !hasToken(b) {
		misses = append(misses, miss{
			id: "L085", subject: "the server", spot: b.lastSpot(b.cleanSession),
			got: "answers without credentials", want: "HTTP 401",
		})
	}
	return misses
}
