package cmdutil

import (
	"syscall"
)

// dieWithParent ends the child when mcpc is killed and can end nobody itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
