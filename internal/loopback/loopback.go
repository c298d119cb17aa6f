// Package loopback finds out which hosts are this machine, and which HTTP requests a local server
// accepts.
package loopback

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// RejectionReason returns why a local server without authentication rejects an HTTP request; "" accepts it.
// A Host other than loopback indicates DNS rebinding, and a foreign Origin a web page
// (basic/transports, "Security Warning"). Each of several Origin fields must be local.
func RejectionReason(host string, fields map[string][]string) string {
	address := url.URL{Host: host}
	if !IsLoopback(address.Hostname()) {
		return "the Host field has another host: " + jsonraw.Excerpt([]byte(host), 100)
	}
	hasOrigin := false
	for _, origin := range fields["Origin"] {
		if origin == "" {
			continue
		}
		hasOrigin = true
		if !isLocalOrigin(origin) {
			return "the Origin is not allowed: " + jsonraw.Excerpt([]byte(origin), 100)
		}
	}
	if !hasOrigin && slices.Contains(fields["Sec-Fetch-Site"], "cross-site") {
		return "the Origin is not allowed"
	}
	return ""
}

// isLocalOrigin reports whether an Origin is an HTTP URL of this machine.
func isLocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && IsLoopback(u.Hostname())
}

// IsHere reports whether a host without a port is this machine: IsLoopback, or a name below
// localhost, which is never resolved elsewhere (RFC 6761, section 6.3).
func IsHere(host string) bool {
	return IsLoopback(host) || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

// IsLoopback reports whether a host without a port is localhost or a loopback address.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
