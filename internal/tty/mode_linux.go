package tty

import "golang.org/x/sys/unix"

// The requests of ioctl: get the mode, set it, set it and discard unread input, and get the number of
// unread bytes.
const (
	getMode   = unix.TCGETS
	setMode   = unix.TCSETS
	flushMode = unix.TCSETSF
	pending   = unix.TIOCINQ
)
