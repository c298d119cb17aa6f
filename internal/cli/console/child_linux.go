package console

import (
	"syscall"
)

// dieWithParent has the kernel kill the child when mcpc is killed and cannot do so itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
