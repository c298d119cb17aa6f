package recorded_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/program"
)

// TestPrintedResultsAreRecorded reads each result as it is printed: the recording must have its
// response then, since the process may be killed next.
func TestPrintedResultsAreRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var calls, steps, words strings.Builder
	steps.WriteString("server: demo\nsteps:\n")
	for n := range 60 {
		fmt.Fprintf(&calls, `{"tool":"get-sum","arguments":{"a":%d,"b":1}}`+"\n", n)
		fmt.Fprintf(&steps, "  - name: The sum of %d\n    call: get-sum\n    args: {a: %d, b: 1}\n", n, n)
		fmt.Fprintf(&words, "call get-sum a=%d b=1\n", n)
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	input, run := file("calls.jsonl", calls.String()), file("steps.mcpc.yaml", steps.String())
	for _, c := range []struct {
		name, stdin string
		args        []string
		lines       int
	}{
		{"call", "", []string{"-s", "demo", "call", "get-sum", "a=7", "b=1"}, 1},
		{"batch", "", []string{"-s", "demo", "batch", input, "--parallel", "8"}, 60},
		{"batch --jq", "", []string{"-s", "demo", "batch", input, "--jq", ".result.content[0].text"}, 60},
		{"run", "", []string{"run", run}, 60},
		{"shell", words.String(), []string{"-s", "demo", "shell"}, 60},
	} {
		recording := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "")+".jsonl")
		cmd := exec.Command("mcpc", append([]string{"--record", recording}, c.args...)...)
		cmd.Env = append(program.CleanEnv(), "MCPC_STATE="+t.TempDir())
		cmd.Stdin = strings.NewReader(c.stdin)
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for printed := bufio.NewScanner(stdout); printed.Scan(); {
			result := sumIn.FindString(printed.Text())
			if result == "" {
				continue
			}
			lines++
			if recorded, err := os.ReadFile(recording); err != nil || !bytes.Contains(recorded, []byte(result+" and 1 is")) {
				t.Errorf("%s printed %q, which the recording has not (%v)", c.name, result, err)
				break
			}
		}
		if err := cmd.Wait(); err != nil || lines != c.lines {
			t.Errorf("%s: %d results, %v", c.name, lines, err)
		}
	}
}

var sumIn = regexp.MustCompile(`The sum of \d+`)
