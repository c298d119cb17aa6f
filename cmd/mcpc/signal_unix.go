//go:build unix

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// interrupts are the signals that end a command in order.
var interrupts = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// catchBrokenPipes makes a write to a pipe that nobody reads an error in place
// of a sudden death: children have to be ended then, and a server that closes
// its standard input is no reason to die. The handler is not inherited, as
// ignoring the signal would be.
func catchBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func raise(s syscall.Signal) {
	_ = syscall.Kill(syscall.Getpid(), s)
	// The signal is delivered to some thread at some moment soon.
	time.Sleep(time.Second)
}

// relayed are the signals that a tap passes on.
var relayed = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT}

// relayTo sends a signal on. What a terminal sends to all of a group goes to all
// of the group that the process leads.
func relayTo(p *os.Process, sig os.Signal) {
	if s := sig.(syscall.Signal); s == syscall.SIGINT || s == syscall.SIGQUIT {
		_ = syscall.Kill(-p.Pid, s)
		return
	}
	_ = p.Signal(sig)
}

// ownGroup lets a child lead a process group, so that it gets every signal from
// mcpc and none a second time from the terminal.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}
