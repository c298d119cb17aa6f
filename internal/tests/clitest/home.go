package clitest

import (
	"bytes"
	"testing"

	"mcpc/internal/tests/program"
)

// A Home is a directory with a separate home and state, where a test runs commands. mcpc runs in
// the process of the test, other commands as programs.
type Home struct{ program.Home }

// EnterHome returns a new home. It is the working directory of the process until the test ends.
func EnterHome(t *testing.T) *Home {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	return &Home{program.Home{Dir: dir, Env: Env(dir), T: t}}
}

// NewHome returns a home that is not the working directory. File names in the command lines of mcpc
// must be absolute. Tests with such a home may run in parallel.
func NewHome(t testing.TB) *Home {
	t.Helper()
	dir := t.TempDir()
	return &Home{program.Home{Dir: dir, Env: Env(dir), T: t}}
}

// MCPC runs a command line of mcpc.
func (h *Home) MCPC(args ...string) Output {
	h.T.Helper()
	var stdout, stderr bytes.Buffer
	code := Run{Args: args, Env: h.Env, Stdout: &stdout, Stderr: &stderr}.Do()
	return Output{stdout.String(), stderr.String(), code}
}
