package main

import (
	"bytes"
	"os/exec"
	"testing"

	"mcpc/internal/tests/program"
)

// A processResult is what a process wrote and how it ended.
type processResult struct{ stdout, stderr, ending string }

// result runs a command.
func result(t *testing.T, cmd *exec.Cmd, stdin []byte) processResult {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run()
	return processResult{stdout.String(), stderr.String(), program.Ending(cmd.ProcessState)}
}

// What stops the recording stops nothing else, and is not told where the server's
// own words stand.
func TestTapOutlivesItsRecording(t *testing.T) {
	for _, place := range []string{"/dev/full", "/nonexistent/folder/file"} {
		cmd := exec.Command("mcpc", "tap", "--record", place, "--", "cat")
		cmd.Env = program.CleanEnv()
		if got := result(t, cmd, []byte("{}\n")); got != (processResult{"{}\n", "", "0"}) {
			t.Errorf("%s: %+v", place, got)
		}
	}
}
