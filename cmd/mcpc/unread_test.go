//go:build linux || darwin

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"testing"

	"mcpc/internal/tests/program"
)

// What waits for more to print ends when its reader has gone, and not only when there
// is more to print.
func TestWaitingCommandEndsWhenReaderCloses(t *testing.T) {
	state := t.TempDir()
	mcpc := func(args ...string) *exec.Cmd {
		cmd := exec.Command("mcpc", args...)
		cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+state)
		return cmd
	}
	if out, err := mcpc("-s", "demo", "ping").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{
		{"log", "--follow"},
		{"log", "--follow", "--jsonl"},
		{"-s", "demo", "list", "--watch"},
		{"-s", "demo", "listen"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd, stderr := mcpc(args...), &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = w, stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if args[len(args)-1] != "listen" { // it prints nothing yet
			if _, err := bufio.NewReader(r).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		_ = cmd.Wait()
		if got := program.Ending(cmd.ProcessState); got != "141" && got != "SIGPIPE" {
			t.Errorf("%q ended with %s", args, got)
		}
		if bytes.Contains(stderr.Bytes(), []byte("mcpc: error")) {
			t.Errorf("%q says %s", args, stderr)
		}
	}
}
