// Package network configures the connections to a server: proxies, pinned addresses and
// certificates.
package network
