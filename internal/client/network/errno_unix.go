//go:build unix

package network

import (
	"syscall"
)

// The system's errors of a connection. A write to a connection that the other side has closed
// fails with EPIPE here, and with WSAECONNABORTED on Windows.
const (
	ConnRefused  = syscall.ECONNREFUSED
	connReset    = syscall.ECONNRESET
	connAborted  = syscall.EPIPE
	ConnTimedOut = syscall.ETIMEDOUT
)
