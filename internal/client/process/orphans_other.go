//go:build unix && !linux

package process

import (
	"syscall"
)

// dieWithParent: only Linux can be asked to; elsewhere the child sees the end of
// its input.
func dieWithParent(*syscall.SysProcAttr) {}

// serverBegins and serverEnded: only on Linux a process that left its server's group can
// be found again.
func serverBegins() {}

func serverEnded() {}
