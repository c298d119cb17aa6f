package auth

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"mcpc/internal/client/network"
)

// A Fetched is a document from a URL.
type Fetched struct {
	// URL is the document's URL, after redirects.
	URL    string
	Status int
	// Type is the Content-Type.
	Type string
	Raw  []byte
	// TooLarge is set if the document has more than 1 MiB. Raw is empty then.
	TooLarge bool
}

// Fetch fetches a document from a URL that a server named, whatever its status. The error is an
// [*Error].
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

// Permit returns an error if the host of a URL that a document names has an address in a network
// that the server may not name. It permits a host that cannot be resolved, as behind a proxy.
func (n *Net) Permit(ctx context.Context, u *url.URL) error {
	if n.route.Pinned(network.HostPort(u)) { // the user chose the address
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, fetchTime)
	defer stop()
	ips, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, ip := range ips {
		if !n.allows(ip) {
			return blockedError("a public server named a private network address: " + u.Host)
		}
	}
	return nil
}
