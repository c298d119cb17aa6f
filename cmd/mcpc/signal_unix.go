//go:build unix

package main

import (
	"os"
	"syscall"
	"time"
)

// interrupts are the signals that end a command in order. A closed pipe on
// standard output is one of them: the child processes have to be ended then too.
var interrupts = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}

func raise(s syscall.Signal) {
	_ = syscall.Kill(syscall.Getpid(), s)
	// The signal is delivered to some thread at some moment soon.
	time.Sleep(time.Second)
}
