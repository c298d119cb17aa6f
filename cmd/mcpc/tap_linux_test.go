package main

import (
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
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

// A request whose client is gone is not open, even if the server does not end.
func TestTapRecordsThatItsClientIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tap.jsonl")
	cmd := exec.Command("mcpc", "tap", "--record", file, "--", "sleep", "1000")
	cmd.Env = program.CleanEnv()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // for the server
		_ = cmd.Wait()
	})
	_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`+"\n")
	in.Close()
	out.Close()
	program.AwaitTrue(t, func() bool {
		c, err := rows.Open(file)
		if err != nil {
			return false
		}
		defer c.Close()
		all := c.Rows()
		return len(all) == 1 && all[0].Channel == exchange.ChannelCancelled &&
			all[0].Text == "cancelled by the client: the client ended the connection"
	})
}
