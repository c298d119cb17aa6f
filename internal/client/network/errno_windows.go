package network

import (
	"golang.org/x/sys/windows"
)

// The system's errors of a connection. On Windows syscall.ECONNREFUSED and similar errors are
// numbers that Go invented; no system call returns them.
const (
	ConnRefused  = windows.WSAECONNREFUSED
	connReset    = windows.WSAECONNRESET
	connAborted  = windows.WSAECONNABORTED
	ConnTimedOut = windows.WSAETIMEDOUT
)
