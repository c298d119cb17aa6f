//go:build unix && !linux

package console

import (
	"syscall"
)

// dieWithParent does nothing: only Linux has this feature. The child sees the end of its input
// instead.
func dieWithParent(*syscall.SysProcAttr) {}
