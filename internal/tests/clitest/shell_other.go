//go:build !unix

package clitest

import "context"

// becomeProgram leaves an exec to the shell.
func becomeProgram(_ context.Context, args []string) ([]string, error) { return args, nil }
