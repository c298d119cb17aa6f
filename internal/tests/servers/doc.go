// Package servers has the servers for tests of mcpc: the built-in demo server and scripts of
// package mock at a fixed address ([Server]), a server that requires a login and can fail in named
// ways ([Login]), and fronts before a server: TLS, a unix socket, an HTTP proxy and a SOCKS proxy
// ([Front]).
//
// They run in the process of the test. Each writes its input to a file ([Log]), so that tests can
// check that mcpc sent nothing.
package servers
