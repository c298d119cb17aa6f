// Command mcpc is a command-line client for the Model Context Protocol and an inspector of its
// traffic. This file gives package cli the streams, the environment and the clock, and ends the
// process with its exit code.
package main

import (
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"mcpc/internal/cli"
	"mcpc/internal/cli/console"
)

// The release script sets these variables. date is the time of the commit in RFC 3339.
var (
	version = "0.1.0-dev"
	commit  string
	date    string
)

func main() {
	f := cli.New(os.Stdin, os.Stdout, os.Stderr)
	f.Commit = commit
	f.Date = date
	f.Leave = os.Exit
	f.Getenv = os.Getenv
	f.Environ = os.Environ
	f.Now = time.Now
	f.Version = version
	// net/http logs unexpected responses unsanitized. The outcome reports them, too.
	log.SetOutput(io.Discard)
	console.CatchBrokenPipes()
	caught := make(chan os.Signal, 4)
	signal.Notify(caught, console.Interrupts...)
	code, died := cli.Run(f, os.Args[1:], caught)
	if died != nil {
		dieBy(died)
	}
	os.Exit(code)
}

// dieBy ends the process by the signal itself, so that a shell loop around it ends, too. If that is
// not possible, it exits with a code.
func dieBy(sig os.Signal) {
	signal.Reset()
	if s, ok := sig.(syscall.Signal); ok {
		console.Raise(s)
		os.Exit(128 + int(s))
	}
	os.Exit(130)
}
