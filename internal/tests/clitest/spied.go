package clitest

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"mcpc/internal/cli/console"
	"mcpc/internal/mock"
	"mcpc/internal/tests/servers"
)

// runSpied runs the program spied: `spied SCRIPT LOG` plays a script over stdio, like mcpc mock, and
// logs its input.
func runSpied() {
	console.CatchBrokenPipes() // as mcpc does; otherwise the runtime may report a deadlock
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	script, err := mock.Parse(string(text))
	if err != nil {
		panic(err)
	}
	_ = script.Stdio(context.Background(), mock.Process{
		In: io.TeeReader(os.Stdin, servers.NewLog(os.Args[2]).Input()), Out: os.Stdout, Err: os.Stderr, Exit: os.Exit,
		IgnoreTerm: func() { signal.Ignore(syscall.SIGTERM) },
	})
}
