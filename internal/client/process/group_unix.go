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

// A Group is a child process with the processes that it starts.
type Group struct{ ID int }

// startGroup starts the child in its own session and process group. A Ctrl-C at the terminal then
// reaches only mcpc, which shuts the child down in order. The server has no terminal either, so it
// cannot write over the output or ask for a password. The caller calls afterServerEnd when the group has
// ended.
func startGroup(cmd *exec.Cmd) (*Group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	dieWithParent(cmd.SysProcAttr)
	beforeServerStart()
	if err := cmd.Start(); err != nil {
		afterServerEnd()
		return nil, err
	}
	return &Group{cmd.Process.Pid}, nil
}

// signal sends a signal to the group.
func (g *Group) signal(sig syscall.Signal) { _ = syscall.Kill(-g.ID, sig) }
