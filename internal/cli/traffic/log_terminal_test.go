package traffic_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

// terminalBuffer is a terminal that keeps what is written to it.
type terminalBuffer struct{ bytes.Buffer }

func (*terminalBuffer) Size() (width, height int) { return 200, 50 }

// A terminal gets the last 20 rows with a note that there are more, or all rows of one run.
func TestLogTellsATerminalOfEarlierRows(t *testing.T) {
	t.Parallel()
	env := clitest.Env(t.TempDir())
	calls := strings.Repeat("{\"tool\":\"echo\",\"arguments\":{\"message\":\"m\"}}\n", 24)
	var discarded bytes.Buffer
	batch := clitest.Run{
		Args: []string{"-s", "demo", "batch"}, Env: env, Stdin: strings.NewReader(calls), Stdout: &discarded, Stderr: &discarded,
	}
	if code := batch.Do(); code != 0 {
		t.Fatalf("batch: exit code %d, %s", code, &discarded)
	}
	const note = "only the last 20 exchanges are shown: -n 0 shows all"
	for _, c := range []struct {
		line string
		rows int // of the method tools/call
		note bool
	}{
		{"log method:tools/call", 20, true},
		{"log method:tools/call --sort dur", 20, true},
		{"log method:tools/call run:1", 24, false},
		{"log last method:tools/call", 24, false},
		{"log method:tools/call run:1..9", 20, true},
		{"log method:tools/call -n 20", 20, false},
		{"log method:tools/call -n 0", 24, false},
		{"log method:tools/list", 0, false},
	} {
		var shown, told terminalBuffer
		run := clitest.Run{Args: strings.Fields(c.line), Env: slices.Clone(env), Stdout: &shown, Stderr: &told}
		code := run.Do()
		rows := strings.Count(shown.String(), "tools/call")
		if code != 0 || rows != c.rows || strings.Contains(told.String(), note) != c.note {
			t.Errorf("%s: exit code %d, %d rows, told %q\n%s", c.line, code, rows, &told.Buffer, &shown.Buffer)
		}
	}
}

// A bundle that was not confirmed at a terminal names the flag that writes it without a question.
func TestUnconfirmedBundleNamesTheFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := clitest.Env(dir)
	var discarded bytes.Buffer
	call := clitest.Run{Args: []string{"-s", "demo", "call", "echo", "message=m"}, Env: env, Stdout: &discarded, Stderr: &discarded}
	if code := call.Do(); code != 0 {
		t.Fatalf("call: exit code %d, %s", code, &discarded)
	}
	for _, typed := range []string{"n\n", ""} {
		var stdin, shown, told terminalBuffer
		stdin.WriteString(typed)
		export := clitest.Run{
			Args: []string{"export", "last", "--as", "bundle", "-o", dir + "/b.mcpcz"}, Env: env,
			Stdin: &stdin, Stdout: &shown, Stderr: &told,
		}
		const hint = "--yes writes it without asking; --redact hides more, and a filter picks fewer exchanges"
		if code := export.Do(); code != 12 || !strings.Contains(told.String(), hint) {
			t.Errorf("typed %q: exit code %d, %s", typed, code, &told.Buffer)
		}
	}
}
