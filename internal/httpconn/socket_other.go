//go:build !unix

package httpconn

import "syscall"

// isClosed reports false: a socket cannot be examined here.
func isClosed(syscall.RawConn) bool { return false }
