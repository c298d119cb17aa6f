//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/program"
)

// The reader of standard output may go away: the command ends quietly, as every
// other program in a pipe.
func TestClosedPipeEndsCommandQuietly(t *testing.T) {
	script, log := playFile(t, "tool x\n")
	calls := filepath.Join(t.TempDir(), "calls.jsonl")
	if err := os.WriteFile(calls, []byte(strings.Repeat(`{"tool":"get-sum","arguments":{"a":1,"b":2}}`+"\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-s", "demo", "list"},
		{"-s", "demo", "list", "--json"},
		{"-s", "demo", "call", "fail", "--json"},
		{"--help"},
		{"version"},
		{"help", "exit-codes"},
		{"list", "--", "spied", script, log},
		{"-s", "demo", "batch", calls},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var stderr bytes.Buffer
		cmd := exec.Command("mcpc", args...)
		cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
		cmd.Stdout, cmd.Stderr = w, &stderr
		_ = cmd.Run()
		w.Close()
		// A shell sees 141 either way.
		if got := program.Ending(cmd.ProcessState); got != "141" && got != "SIGPIPE" {
			t.Errorf("%q ended with %s", args, got)
		}
		if stderr.Len() > 0 {
			t.Errorf("%q says %s", args, stderr.String())
		}
	}
	if left := program.Processes(t, script); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}
