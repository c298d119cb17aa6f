package tty

import "golang.org/x/sys/unix"

// The requests of ioctl: get the mode, set it, set it and drop what was not read yet,
// and how much that is.
const (
	getMode   = unix.TCGETS
	setMode   = unix.TCSETS
	flushMode = unix.TCSETSF
	pending   = unix.TIOCINQ
)
