//go:build unix

package http1

import "syscall"

// canExamine reports that examine can tell.
const canExamine = true

// examine reports that something from the other side is unread, or that the other side has
// closed the connection and nothing is. It takes nothing from the connection and does not wait.
func examine(socket syscall.RawConn) (unread, closed bool) {
	var one [1]byte
	_ = socket.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		unread = n > 0 && err == nil
		closed = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return unread, closed
}
