//go:build !unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// interrupts are the signals that end a command in order.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

func catchBrokenPipes() {}

func raise(syscall.Signal) {}

// relayed are the signals that a tap passes on.
var relayed = []os.Signal{os.Interrupt, syscall.SIGTERM}

// relayTo can only end a process where there are no signals.
func relayTo(p *os.Process, _ os.Signal) { _ = p.Kill() }

func ownGroup(*exec.Cmd) {}
