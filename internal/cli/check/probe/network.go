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
var exemptIfRemote = exemptIf("the server is not on this machine",
	func(b *bench) bool { return !cmdutil.IsLocal(b.clean.opt.Server.URL) })

// otherAddresses reports a local server that accepts connections on other addresses of this
// machine.
func otherAddresses(ctx context.Context, b *bench) []miss {
	endpoint, urlErr := url.Parse(b.clean.opt.Server.URL)
	addresses, addrsErr := net.InterfaceAddrs()
	if urlErr != nil || addrsErr != nil {
		return skipRule("L084", "the addresses of this machine are unknown")
	}
	var others []string
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			others = append(others, net.JoinHostPort(network.IP.String(), endpoint.Port()))
		}
	}
	address := reachable(ctx, others)
	if address == "" {
		return nil
	}
	return []miss{{
		id: "L084", subject: "the server's port", at: b.lastSpot(b.clean),
		got: "a connection to " + address, want: "none: only 127.0.0.1 and ::1",
	}}
}

// reachable returns the first address that accepts a TCP connection, or "".
func reachable(ctx context.Context, addresses []string) string {
	dialer := net.Dialer{Timeout: time.Second}
	for _, address := range addresses {
		if c, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			c.Close()
			return address
		}
	}
	return ""
}

// openToAnyone judges a server on the network: whether it speaks https and asks for credentials.
func openToAnyone(_ context.Context, b *bench) (misses []miss) {
	u, err := url.Parse(b.clean.opt.Server.URL)
	if err == nil && u.Scheme == "http" {
		misses = append(misses, miss{
			id: "L085", subject: "the URL", got: "http", want: "https", severity: conv.Error, at: b.lastSpot(b.clean),
		})
	}
	if !b.pacer.facts().Unauthorized && !hasToken(b) {
		misses = append(misses, miss{
			id: "L085", subject: "the server", at: b.lastSpot(b.clean),
			got: "answers without credentials", want: "HTTP 401",
		})
	}
	return misses
}
