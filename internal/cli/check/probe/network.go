package probe

import (
	"context"
	"net"
	"net/url"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/lint/conv"
)

// notLocal holds if the server need not be bound to the loopback address.
var exemptIfRemote = exemptIf("the server is not on this machine",
	func(b *bench) bool { return !cmdutil.IsLocal(b.clean.opt.Server.URL) })

// otherAddress tries the other addresses of this machine.
func otherAddresses(ctx context.Context, b *bench) []miss {
	u, err := url.Parse(b.clean.opt.Server.URL)
	addresses, failed := net.InterfaceAddrs()
	if err != nil || failed != nil {
		return skipRule("L084", "the addresses of this machine are unknown")
	}
	var others []string
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && !network.IP.IsLoopback() && !network.IP.IsLinkLocalUnicast() {
			others = append(others, net.JoinHostPort(network.IP.String(), u.Port()))
		}
	}
	if at := reachable(ctx, others); at != "" {
		return []miss{
			{
				id:      "L084",
				subject: "the server's port",
				got:     "a connection to " + at,
				want:    "none: only 127.0.0.1 and ::1",
				at:      b.lastSpot(b.clean),
			},
		}
	}
	return nil
}

// reachable is the first of some addresses that takes a connection, or "".
func reachable(ctx context.Context, addresses []string) string {
	dialer := net.Dialer{Timeout: time.Second}
	for _, at := range addresses {
		if c, err := dialer.DialContext(ctx, "tcp", at); err == nil {
			c.Close()
			return at
		}
	}
	return ""
}

// open judges a server on the network that anyone may use.
func openToAnyone(_ context.Context, b *bench) (misses []miss) {
	u, err := url.Parse(b.clean.opt.Server.URL)
	if err == nil && u.Scheme == "http" {
		misses = append(
			misses,
			miss{id: "L085", subject: "the URL", got: "http", want: "https", severity: conv.Error, at: b.lastSpot(b.clean)},
		)
	}
	if !b.pacer.facts().Unauthorized && !hasToken(b) {
		misses = append(
			misses,
			miss{id: "L085", subject: "the server", got: "answers without credentials", want: "HTTP 401", at: b.lastSpot(b.clean)},
		)
	}
	return misses
}
