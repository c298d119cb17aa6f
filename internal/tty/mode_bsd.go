//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import "golang.org/x/sys/unix"

// The requests of ioctl: get the mode, set it, set it and discard unread input, and get the number of
// unread bytes (FIONREAD of sys/filio.h, the same number on all these systems).
const (
	getMode   = unix.TIOCGETA
	setMode   = unix.TIOCSETA
	flushMode = unix.TIOCSETAF
	pending   = 0x4004667f
)
