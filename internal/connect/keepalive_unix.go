//go:build unix

package connect

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/connect/host"
	"mcpc/internal/state"
)

const canHold = true

// startHolder starts a process that holds the server, and gives a connection to it. It
// leads a session of its own, so that the end of a terminal is not its end, and has
// nothing open that mcpc has: a script that waits for the end of a pipe does not wait
// for it.
func startHolder(env *host.Env, server client.Server, held state.KeptServer) (net.Conn, error) {
	ours, theirs, err := pairOfSockets()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	defer theirs.Close()
	self, err := env.Executable()
	if err != nil {
		return nil, err
	}
	keepFilesHere()
	process.KeepOrphans()
	cmd := exec.Command(
		self,
		append([]string{"hold", "--socket", held.Socket, "--idle", held.Idle.String(), "--"}, server.Command...)...)
	cmd.Stdin = theirs
	cmd.Env = server.Env
	cmd.Dir = server.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = cmd.Process.Release()
	return net.FileConn(ours)
}

func pairOfSockets() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	return os.NewFile(uintptr(fds[0]), "holder"), os.NewFile(uintptr(fds[1]), "opener"), nil
}

// keepFilesHere sets close-on-exec for the files that mcpc inherited from its parent, so that
// no process that outlives it inherits them. Its own have that anyway.
func keepFilesHere() {
	entries, _ := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
