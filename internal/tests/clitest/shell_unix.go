//go:build unix

package clitest

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"mvdan.cc/sh/v3/interp"
)

// becomeProgram replaces the process by the program of an exec, so that the program receives the
// signals to the shell. The shell must have no other running commands.
func becomeProgram(ctx context.Context, args []string) ([]string, error) {
	if args[0] != "exec" || len(args) < 2 {
		return args, nil
	}
	handler := interp.HandlerCtx(ctx)
	path, err := interp.LookPathDir(handler.Dir, handler.Env, args[1])
	if err != nil {
		return args, nil // the shell reports it
	}
	for fd, stream := range []any{handler.Stdin, handler.Stdout, handler.Stderr} {
		file, ok := stream.(*os.File)
		if !ok || int(file.Fd()) == fd {
			continue
		}
		if err := unix.Dup2(int(file.Fd()), fd); err != nil {
			return nil, err
		}
	}
	if err := os.Chdir(handler.Dir); err != nil {
		return nil, err
	}
	return nil, syscall.Exec(path, args[1:], exportedVariables(handler.Env))
}
