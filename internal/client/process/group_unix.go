//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// A Group is a child with the processes that it starts.
type Group struct{ ID int }

// startGroup lets the child lead a session and a process group. A Ctrl-C at the
// terminal then reaches mcpc alone, which cancels and shuts the child down in
// order; and a server has no terminal on which it could write over the answer or
// ask for a password.
func startGroup(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
	serverBegins()
	if err := cmd.Start(); err != nil {
		serverEnded()
		return nil, err
	}
	return &Group{cmd.Process.Pid}, nil
}

func (g *Group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.ID, sig) }
