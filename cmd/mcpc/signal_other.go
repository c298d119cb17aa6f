//go:build !unix

package main

import (
	"os"
	"syscall"
)

// interrupts are the signals that end a command in order.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

func catchBrokenPipes() {}

func raise(syscall.Signal) {}
