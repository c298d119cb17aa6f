//go:build unix

package main

import (
	"os"
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
