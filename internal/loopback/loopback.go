// Package loopback tells which hosts are this machine, and which HTTP requests a server on it accepts.
package loopback

import (
	"net/netip"
	"net/url"
	"strings"

	"mcpc/internal/jsonraw"
)

// Reject says why a server on this machine without authentication refuses an HTTP
// request; "" accepts it. A Host other than loopback is a sign of DNS rebinding; a page
// in a browser names its origin (basic/transports, "Security Warning"). Of several
// Origin fields each has to be of this machine.
func Reject(host string, fields map[string][]string) string {
	asked := url.URL{Host: host}
	if !IsLoopback(asked.Hostname()) {
		return "the Host field has another host: " + jsonraw.Excerpt([]byte(host), 100)
	}
	named := false
	for _, origin := range fields["Origin"] {
		u, err := url.Parse(origin)
		if origin != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || !IsLoopback(u.Hostname())) {
			return "the Origin is not allowed: " + jsonraw.Excerpt([]byte(origin), 100)
		}
		named = named || origin != ""
	}
	for _, site := range fields["Sec-Fetch-Site"] {
		if site == "cross-site" && !named {
			return "the Origin is not allowed"
		}
	}
	return ""
}

// IsHere reports whether a host without its port is this machine: IsLoopback, or a name below localhost, which never
// leaves it (RFC 6761, section 6.3).
func IsHere(host string) bool {
	return IsLoopback(host) || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// IsLoopback reports whether a host without its port is this machine by its name or address.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
