//go:build unix

package console

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Interrupts are the signals that end a command in order.
var Interrupts = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// CatchBrokenPipes makes a write to a pipe without a reader return an error
// instead of killing mcpc: children have to be ended then, and a server that
// closes its standard input is no reason to die. The handler is not inherited,
// as ignoring the signal would be.
func CatchBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func IsBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func Raise(s syscall.Signal) {
	_ = syscall.Kill(syscall.Getpid(), s)
	// The signal is delivered to some thread at some moment soon.
	time.Sleep(time.Second)
}

// Relayed are the signals that a tap passes on.
var Relayed = []os.Signal{
	syscall.SIGINT,
	syscall.SIGTERM,
	syscall.SIGHUP,
	syscall.SIGQUIT,
	syscall.SIGUSR1,
	syscall.SIGUSR2,
	syscall.SIGCONT,
}

// StartGroup lets a child lead a process group, so that it gets every signal from
// mcpc and none a second time from the terminal. What a terminal sends to all of a
// group is sent to all of that one.
func StartGroup(cmd *exec.Cmd) (send func(os.Signal), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	send = func(sig os.Signal) {
		if s := sig.(syscall.Signal); s == syscall.SIGINT || s == syscall.SIGQUIT {
			_ = syscall.Kill(-cmd.Process.Pid, s)
			return
		}
		_ = cmd.Process.Signal(sig)
	}
	return send, cmd.Start()
}
