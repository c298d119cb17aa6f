//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Hide makes the terminal f show nothing of what is typed, until show is called. It
// comes before the question: what is pasted at once would be seen.
func Hide(f *os.File) (show func(), err error) {
	fd := int(f.Fd())
	mode, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return nil, err
	}
	before := *mode
	mode.Lflag &^= unix.ECHO
	mode.Lflag |= unix.ICANON | unix.ISIG
	mode.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setMode, mode); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setMode, &before) }, nil
}
