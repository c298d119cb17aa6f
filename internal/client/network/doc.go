// Package network has the options of the connections to a server: proxies, pinned
// addresses and certificates; and it makes reused connections safe to write to.
package network
