//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// ownGroup lets the child lead a session and a process group. A Ctrl-C at the
// terminal then reaches mcpc alone, which cancels and shuts the child down in
// order; and a server has no terminal on which it could write over the answer or
// ask for a password.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
}

func signalGroup(cmd *exec.Cmd, sig syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, sig) }
