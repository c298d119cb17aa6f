//go:build !unix

package http1

import "syscall"

// canExamine reports that examine can tell.
const canExamine = false

// examine knows nothing here.
func examine(syscall.RawConn) (unread, closed bool) { return false, false }
