package auth

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"mcpc/internal/client/network"
)

// A Fetched is the document that a URL answered with.
type Fetched struct {
	// URL is where it was, after redirects.
	URL    string
	Status int
	// Type is the Content-Type.
	Type string
	Raw  []byte
	// TooLarge is set where it has more than 1 MiB; Raw is then empty.
	TooLarge bool
}

// Fetch gets a document by the rules for what strangers name. The error is an [*Error].
func (n *Net) Fetch(ctx context.Context, where, accept string) (Fetched, error) {
	u, err := SafeURL(where)
	if err != nil {
		return Fetched{}, err
	}
	d, err := n.exchange(ctx, n.reader, http.MethodGet, u.String(), http.Header{"Accept": {accept}}, nil)
	if d.TooLarge {
		d.Raw = nil
	}
	return d, err
}

// Permit holds an address that a document names against the rules, with each address of its
// host. A host that cannot be looked up, as behind a proxy, is permitted.
func (n *Net) Permit(ctx context.Context, u *url.URL) error {
	if n.way.Pinned(network.HostPort(u)) {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	ips, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, ip := range ips {
		if !n.allows(ip) {
			return blocked("a public server named a private network address: " + u.Host)
		}
	}
	return nil
}
