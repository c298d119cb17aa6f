//go:build !unix

package client

import (
	"os/exec"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func ownGroup(*exec.Cmd) {}

// signalGroup can only end the child itself where there are no process groups.
func signalGroup(cmd *exec.Cmd, _ syscall.Signal) { _ = cmd.Process.Kill() }
