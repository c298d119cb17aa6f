package auth

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
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
	if err == nil {
		err = n.check(where)
	}
	if err != nil {
		return Fetched{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Fetched{}, blocked("not a URL")
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "mcpc")
	resp, err := n.reader.Do(req)
	if err != nil {
		return Fetched{}, unreachable(where, err)
	}
	defer resp.Body.Close()
	d := Fetched{URL: resp.Request.URL.String(), Status: resp.StatusCode, Type: resp.Header.Get("Content-Type")}
	if d.Raw, err = io.ReadAll(io.LimitReader(resp.Body, maxDocument+1)); err != nil {
		return d, unreachable(where, err)
	}
	if len(d.Raw) > maxDocument {
		d.Raw, d.TooLarge = nil, true
	}
	return d, nil
}

// Permit holds an address that a document names against the rules, with each address of its
// host. A host that cannot be looked up, as behind a proxy, is permitted.
func (n *Net) Permit(ctx context.Context, u *url.URL) error {
	if n.way.Pinned(hostPort(u)) {
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
