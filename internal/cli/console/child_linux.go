package console

import (
	"syscall"
)

// dieWithParent makes the kernel kill the child when mcpc dies without ending it.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
