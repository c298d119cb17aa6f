// Package servers has the servers that tests of mcpc talk to: the built-in demo server and scripts
// of package mock at an address that stays the same while they are replaced ([Server]), a server
// that requires a login and can fail in named ways ([Login]), and what can stand between a client
// and a server: TLS, a unix socket, an HTTP proxy and a SOCKS proxy ([Front]).
//
// They run in the process of the test. Each writes what it receives to a file ([Log]), because
// "nothing was sent" is a promise of mcpc that tests check.
package servers
