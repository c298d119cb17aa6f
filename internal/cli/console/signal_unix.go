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

// Interrupts are the signals after which a command ends in order.
var Interrupts = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// CatchBrokenPipes makes a write to a pipe without a reader return an error instead of killing
// mcpc: it has to end child processes first, and a server that closes its standard input must not
// kill it. Unlike an ignored signal, child processes do not inherit this.
func CatchBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// IsBrokenPipe reports whether err is a write to a pipe without a reader.
func IsBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// Raise sends a signal to this process, and waits for its delivery.
func Raise(s syscall.Signal) {
	_ = syscall.Kill(syscall.Getpid(), s)
	// Any thread may receive the signal, a moment later.
	time.Sleep(time.Second)
}

// Relayed are the signals that a tap passes to its server.
var Relayed = []os.Signal{
	syscall.SIGINT,
	syscall.SIGTERM,
	syscall.SIGHUP,
	syscall.SIGQUIT,
	syscall.SIGUSR1,
	syscall.SIGUSR2,
	syscall.SIGCONT,
}

// NotifyRestart sends a value to c after each SIGUSR2, without waiting.
func NotifyRestart(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR2) }

// StartGroup starts cmd in its own process group, so that it gets each signal from mcpc and not again
// from the terminal. The returned function sends a signal: SIGINT and SIGQUIT to the whole group, as a
// terminal does, others to the process only.
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
