//go:build unix

package http1

import (
	"sync"
	"syscall"
)

// canExamine reports that examine can tell.
const canExamine = true

// examine reports that something from the other side is unread, or that the other side has
// closed the connection and nothing is. It takes nothing from the connection and does not wait.
func examine(socket syscall.RawConn) (unread, closed bool) {
	l := looks.Get().(*look)
	defer looks.Put(l)
	l.unread, l.closed = false, false
	_ = socket.Control(l.at)
	return l.unread, l.closed
}

// A look is one call of examine. They are used again, because each request makes one.
type look struct {
	one            [1]byte
	at             func(fd uintptr)
	unread, closed bool
}

var looks = sync.Pool{New: func() any {
	l := &look{}
	l.at = func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), l.one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		l.unread = n > 0 && err == nil
		l.closed = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	}
	return l
}}
