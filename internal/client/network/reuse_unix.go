//go:build unix

package network

import (
	"syscall"
)

// isClosedThere reports that the other side has closed the connection, and that nothing
// it sent before is unread. It takes nothing from the connection and does not wait; who
// reads meanwhile is not held up.
func isClosedThere(socket syscall.RawConn) (closed bool) {
	_ = socket.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return closed
}
