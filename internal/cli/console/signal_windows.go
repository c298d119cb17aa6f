package console

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"

	"mcpc/internal/client/process"
)

// Interrupts are the signals that end a command in order.
var Interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

func CatchBrokenPipes() {}

// IsBrokenPipe reports that nothing reads the pipe: no system call returns
// syscall.EPIPE on Windows.
func IsBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}

func Raise(syscall.Signal) {}

// Relayed are the signals that a tap passes on.
var Relayed = []os.Signal{os.Interrupt, syscall.SIGTERM}

// NotifyRestart does nothing: Windows has no signals.
func NotifyRestart(chan<- os.Signal) {}

// StartGroup starts a child in a job, which every signal ends: Windows has no signals.
func StartGroup(cmd *exec.Cmd) (send func(os.Signal), err error) {
	job, err := process.StartJob(cmd)
	return func(os.Signal) { job.Terminate() }, err
}
