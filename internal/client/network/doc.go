// Package network has the options of the connections to a server: proxies, pinned
// addresses and certificates.
package network
