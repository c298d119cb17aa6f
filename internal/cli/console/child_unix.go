//go:build unix && !linux

package console

import (
	"syscall"
)

// dieWithParent: only Linux can be asked to; elsewhere the child sees the end of
// its input.
func dieWithParent(*syscall.SysProcAttr) {}
