//go:build !unix

package clitest

import "context"

// becomeProgram returns args unchanged: the shell runs an exec itself.
func becomeProgram(_ context.Context, args []string) ([]string, error) { return args, nil }
