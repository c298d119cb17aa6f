//go:build unix

package httpconn

import "syscall"

// isClosed reports whether the other side has closed the connection and all its data is read. It
// reads nothing and does not wait.
func isClosed(socket syscall.RawConn) bool {
	closed := false
	_ = socket.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err != nil {
			closed = err != syscall.EAGAIN && err != syscall.EINTR
		} else {
			closed = n == 0
		}
	})
	return closed
}
