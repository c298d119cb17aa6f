//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Gone reports that f is a pipe or a socket whose reader has closed it: whatever is
// written to it is lost. It does not wait. That it says false is no promise.
func Gone(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		// Not every system looks at a pipe of which it is asked nothing.
		asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(asked, 0)
		gone = err == nil && n > 0 && asked[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
