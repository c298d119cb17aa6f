package program

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Home is a directory with a separate home and state, where a test runs commands.
type Home struct {
	Dir string
	// Env is the environment of the commands.
	Env []string
	T   testing.TB
}

// NewHome returns an empty home.
func NewHome(t testing.TB) *Home {
	t.Helper()
	dir := t.TempDir()
	env := append(CleanEnv(), "HOME="+dir, "MCPC_STATE="+filepath.Join(dir, "state"), "LC_ALL=C.UTF-8")
	return &Home{Dir: dir, Env: env, T: t}
}

// Run runs a command, and returns its standard output and how it ended.
func (h *Home) Run(argv ...string) (stdout, ended string) {
	h.T.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = h.Dir
	cmd.Env = h.Env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		h.T.Fatal(err)
	}
	ended = Ending(cmd.ProcessState)
	if stderr.Len() > 0 {
		h.T.Logf("%q: %s", argv, stderr.String())
	}
	return string(out), ended
}
