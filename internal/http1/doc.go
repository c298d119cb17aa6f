// Package http1 sends HTTP/1.1 requests over connections of its own: written and read in the
// caller's goroutine, where net/http has two goroutines for each connection. Parsing is the
// standard library's.
package http1
