//go:build !unix

package httpconn

import "syscall"

// isClosed returns false: this system has no such check.
func isClosed(syscall.RawConn) bool { return false }
