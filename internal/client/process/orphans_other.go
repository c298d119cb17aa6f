//go:build unix && !linux

package process

import (
	"syscall"
)

// dieWithParent does nothing: only Linux has this function. Elsewhere the child sees the end of its
// input.
func dieWithParent(*syscall.SysProcAttr) {}

// beforeServerStart does nothing: orphans can be found on Linux only.
func beforeServerStart() {}

// afterServerEnd does nothing, like beforeServerStart.
func afterServerEnd() {}
