//go:build programs

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/tests/program"
	"mcpc/internal/wire"
)

// tapped is a command line with mcpc tap before it, and its recording.
func tapped(t *testing.T, argv ...string) (cmd *exec.Cmd, record string) {
	t.Helper()
	record = filepath.Join(t.TempDir(), "traffic")
	cmd = exec.Command("mcpc", append([]string{"tap", "--record", record, "--"}, argv...)...)
	cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
	return cmd, record
}

// A server behind a tap cannot be told from one without it: whatever crosses,
// messages or not, in whole lines or not.
func TestTapRelaysBytesUnchanged(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	inputs := map[string][]byte{
		"nothing":     nil,
		"messages":    []byte("{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"x\"}\r\n{\"jsonrpc\":\"2.0\",\"method\":\"y\"}\n"),
		"no line end": []byte(`{"jsonrpc":"2.0","id":1,"method":"x"}`),
		"every byte":  bytes.Repeat(every, 100),
		"a long line": bytes.Repeat([]byte("0123456789abcdef"), 1<<18),
		"blank lines": []byte("\n\r\n\n \n"),
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			server := []string{"sh", "-c", "tee /dev/stderr; printf end; exit 3"}
			direct := result(t, exec.Command(server[0], server[1:]...), input)
			cmd, record := tapped(t, server...)
			if through := result(t, cmd, input); through != direct {
				t.Errorf("%d and %d bytes and %s, without the tap %d and %d and %s", len(through.stdout), len(through.stderr),
					through.ending, len(direct.stdout), len(direct.stderr), direct.ending)
			}
			if _, err := rows.Open(record); err != nil {
				t.Error(err)
			}
		})
	}
}

// The child's ending is the tap's.
func TestTapEndsAsItsServer(t *testing.T) {
	for script, want := range map[string]string{"exit 0": "0", "exit 42": "42", "kill -TERM $$": "143", "kill -KILL $$": "137"} {
		cmd, _ := tapped(t, "sh", "-c", script)
		if got := result(t, cmd, nil); got != (processResult{ending: want}) {
			t.Errorf("%s: %+v, want %s", script, got, want)
		}
	}
	cmd, _ := tapped(t, "/nonexistent/server")
	if got := result(t, cmd, nil); got.ending != "7" || got.stdout != "" || !strings.Contains(got.stderr, "no such command") {
		t.Errorf("no such command: %+v", got)
	}
}

// Signals are the server's: it decides what becomes of them.
func TestTapPassesSignalsOn(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		cmd, _ := tapped(t, "sh", "-c", `trap 'echo got; exit 9' INT TERM HUP USR1; echo up; read x; while :; do sleep 0.02; done`)
		in, out := pipesOf(t, cmd)
		defer in.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		readUntil(t, out, "up\n")
		in.Close()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		readUntil(t, out, "got\n")
		_ = cmd.Wait()
		if got := program.Ending(cmd.ProcessState); got != "9" {
			t.Errorf("%s: the tap ended with %s", sig, got)
		}
	}
}

func pipesOf(t *testing.T, cmd *exec.Cmd) (in, out *os.File) {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	return stdin.(*os.File), stdout.(*os.File)
}

// readUntil reads a text and nothing more.
func readUntil(t *testing.T, from *os.File, want string) {
	t.Helper()
	got := make([]byte, len(want))
	_ = from.SetReadDeadline(time.Now().Add(program.Patience))
	for n := 0; n < len(got); {
		k, err := from.Read(got[n:])
		if n += k; err != nil {
			t.Fatalf("read %q and %v, want %q", got[:n], err, want)
		}
	}
	if string(got) != want {
		t.Fatalf("read %q, want %q", got, want)
	}
}

// A server does not outlive the tap, and learns when the client goes.
func TestServerEndsWithKilledTap(t *testing.T) {
	cmd, _ := tapped(t, "sh", "-c", "echo $$; exec sleep 300")
	in, out := pipesOf(t, cmd)
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	_ = out.SetReadDeadline(time.Now().Add(program.Patience))
	buf := make([]byte, 100)
	for { // the end comes when the server, too, has let go of its output
		if _, err := out.Read(buf); err != nil {
			if !strings.Contains(err.Error(), "EOF") {
				t.Errorf("%v", err)
			}
			break
		}
	}
	_ = cmd.Wait()
	client, _ := tapped(t, "cat")
	if got := result(t, client, []byte("x")); got != (processResult{"x", "", "0"}) {
		t.Errorf("the end of the input: %+v", got)
	}
}

// A server that ends while its client waits has failed it; one that its client left
// has not.
func TestTapRecordsWhetherServerOrClientEndedFirst(t *testing.T) {
	for _, c := range []struct {
		server string
		leaves bool
		want   string
	}{
		{"read line; exit 0", false, string(wire.Transport)},
		{"cat >/dev/null", true, exchange.ChannelCancelled},
	} {
		cmd, record := tapped(t, "sh", "-c", c.server)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
		if c.leaves {
			in.Close()
		}
		if _, err := cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		in.Close()
		capture, err := rows.Open(record)
		if err != nil {
			t.Fatal(err)
		}
		if all := capture.Rows(); len(all) != 1 || all[0].Channel != c.want {
			t.Errorf("%s: %d rows, want one on channel %s", c.server, len(all), c.want)
		}
		capture.Close()
	}
}

// A process that the server left behind holds its streams, and the tap only while it
// has something to say.
func TestTapRelaysOutputOfLeftoverProcess(t *testing.T) {
	cmd, _ := tapped(t, "sh", "-c", `(sleep 0.05; echo late; sleep 300) & echo $!; exit 4`)
	got := result(t, cmd, nil)
	pid, rest, _ := strings.Cut(got.stdout, "\n")
	_ = exec.Command("kill", pid).Run()
	if got.ending != "4" || rest != "late\n" {
		t.Errorf("%+v", got)
	}
}
