package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"

	"mcpc/internal/client"
)

// interrupts are the signals that end a command in order.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

func catchBrokenPipes() {}

// isBrokenPipe reports that nothing reads the pipe: no system call returns
// syscall.EPIPE on Windows.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_NO_DATA) || errors.Is(err, windows.ERROR_BROKEN_PIPE)
}

func raise(syscall.Signal) {}

// relayed are the signals that a tap passes on.
var relayed = []os.Signal{os.Interrupt, syscall.SIGTERM}

// startGroup starts a child in a job, which every signal ends: Windows has none.
func startGroup(cmd *exec.Cmd) (send func(os.Signal), err error) {
	job, err := client.StartJob(cmd)
	return func(os.Signal) { job.Terminate() }, err
}
