//go:build !unix

package network

import (
	"syscall"
)

// isClosedThere knows nothing here.
func isClosedThere(syscall.RawConn) bool { return false }
