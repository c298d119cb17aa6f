//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Handed opens a descriptor that the process was started with, to write to it where
// whoever started it stands in it. The error is that of the operating system, or EBADF
// also for what the process opened itself, which closes on exec, and for what can only
// be read.
func Handed(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil, err
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, err
	}
	if flags&unix.FD_CLOEXEC != 0 || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, unix.EBADF
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), "descriptor"), nil
}
