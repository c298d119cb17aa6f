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

const canKeep = true

// startKeeper starts a process that keeps the server, and returns a connection to it. The process
// leads its own session, so that it outlives the terminal, and inherits no open files: a script
// that waits for the end of a pipe does not wait for it.
func startKeeper(env *host.Env, server client.Server, held state.KeptServer) (net.Conn, error) {
	opener, keeper, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer opener.Close()
	defer keeper.Close()
	self, err := env.Executable()
	if err != nil {
		return nil, err
	}
	closeFilesOnExec()
	process.KeepOrphans() // the process and its server are meant to outlive this one
	args := []string{"hold", "--socket", held.Socket, "--idle", held.Idle.String(), "--"}
	cmd := exec.Command(self, append(args, server.Command...)...)
	cmd.Stdin = keeper
	cmd.Env = server.Env
	cmd.Dir = server.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = cmd.Process.Release() // it outlives this process, which never waits for it
	return net.FileConn(opener)
}

// socketPair returns two connected sockets that child processes do not inherit.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child is started before the sockets are close-on-exec
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

// closeFilesOnExec sets close-on-exec for the files that mcpc inherited from its parent, so that no
// process that outlives mcpc inherits them. Files that mcpc opens have it already.
func closeFilesOnExec() {
	entries, _ := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
