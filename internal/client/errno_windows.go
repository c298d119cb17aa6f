package client

import "golang.org/x/sys/windows"

// The system's errors of a connection. On Windows syscall.ECONNREFUSED and its like
// are numbers that Go invented, and no system call returns them.
const (
	connRefused  = windows.WSAECONNREFUSED
	connReset    = windows.WSAECONNRESET
	connAborted  = windows.WSAECONNABORTED
	connTimedOut = windows.WSAETIMEDOUT
)
