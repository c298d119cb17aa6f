//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"mcpc/internal/client"
	"mcpc/internal/shellwords"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// What is longer than the screen, as a person meets it.

// manyTools is a server with 200 of them, whose names and descriptions are of every
// width.
func manyTools() string {
	var b strings.Builder
	for i := range 200 {
		name := fmt.Sprintf("tool-%03d%s", i, strings.Repeat("-long", i%7))
		about := []string{"Does one thing.", "天気予報を日本語で返します。", "Family 👨\u200d👩\u200d👧 and flag 🇫🇷 e\u0301", strings.Repeat("word ", 60), "first\\nsecond"}[i%5]
		fmt.Fprintf(&b, "tool {\"name\":%q,\"description\":\"%s\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\"}},\"required\":[\"city\"]},\"annotations\":{\"readOnlyHint\":true}}\n", name, about)
	}
	return b.String()
}

// A list of 200 tools fits every width, and what is cut of a line is said there.
func TestTerminalManyTools(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{20, 40, 80, 132, 200} {
		script, log := playFile(t, manyTools())
		out := terminal.Start(t, columns, nil, "mcpc", "list", "--", "spied", script, log).Ends("0")
		for _, line := range terminal.Shown(out) {
			if w := ansi.StringWidth(line); w > columns {
				t.Errorf("at %d columns a line has %d: %q", columns, w, line)
			}
			if strings.Contains(line, "word word") && columns > 20 && !strings.Contains(line, " chars") {
				t.Errorf("at %d columns nothing says what was cut: %q", columns, line)
			}
		}
		if n := strings.Count(out, "tool-"); n != 200 {
			t.Errorf("at %d columns %d of 200 tools are named", columns, n)
		}
	}
}

// aPager writes a pager that shows the top, says how it was called, and ends with q.
func aPager(t *testing.T, then string) string {
	t.Helper()
	return program.InPath(t, "#!/bin/sh\necho \"top of $# $1 LESS=$LESS\"\nhead -n 3\n"+then+"\n")
}

const untilQ = "while read key </dev/tty; do [ \"$key\" = q ] && exit 0; done"

func TestTerminalPager(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, manyTools())
	list := []string{"mcpc", "list", "--", "spied", script, log}
	pager := aPager(t, untilQ)
	for name, env := range map[string][]string{
		"its own variable": {"MCPC_PAGER=" + pager + " -x", "PAGER=false"},
		"everybody's":      {"PAGER=" + pager + " -x"},
	} {
		tm := terminal.Start(t, 80, append(env, "MCPC_NO_PAGER=", "LESS=", "NO_COLOR=1"), list...)
		tm.Await(`(^|\r)top of 1 -x LESS=FRX\r\ntool-000`)
		tm.Type("q\n")
		if out := tm.Ends("0"); strings.Contains(out, "tool-150") || strings.Contains(out, "mcpc:") {
			t.Errorf("%s: %q", name, out)
		}
	}
	// Ctrl-C is the pager's: this one does not mind.
	stubborn := aPager(t, "trap 'echo got it' INT\necho ready\n"+untilQ+"\n"+untilQ)
	tm := terminal.Start(t, 80, []string{"MCPC_PAGER=" + stubborn, "MCPC_NO_PAGER=", "LESS=R"}, list...)
	tm.Await(`top of 0  LESS=R\r\n(?s:.*)ready\r\n`)
	tm.Type("\x03\n") // a shell that is not yet reading runs its trap after the next line
	tm.Await(`got it\r\n`)
	awaitIdle(t, tm.Cmd.Process.Pid) // mcpc gets the signal as well: it must have taken it before the pager ends
	tm.Type("q\n")
	tm.Ends("0")
}

// awaitIdle waits until no thread of a process runs, where /proc tells.
func awaitIdle(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(program.Patience)
	for quiet := 0; quiet < 3; time.Sleep(5 * time.Millisecond) {
		quiet++
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			stat, _ := os.ReadFile(thread)
			if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "R") {
				quiet = 0
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is never idle", pid)
		}
	}
}

// Where no pager can help, the answer is there all the same.
func TestTerminalWithoutPager(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, "speaks "+client.Revisions()[1]+"\ncapabilities {\"tools\":{\"listChanged\":true}}\n"+manyTools())
	pager := aPager(t, untilQ)
	list := "mcpc list -- spied " + shellwords.Quote(script) + " " + shellwords.Quote(log)
	for name, c := range map[string]struct{ env, command, says string }{
		"not there":         {"MCPC_PAGER=/no/such/pager", list, "the pager /no/such/pager cannot be started"},
		"cat":               {"MCPC_PAGER=cat", list, ""},
		"a flag":            {"MCPC_PAGER=" + pager, strings.Replace(list, "list", "list --no-pager", 1), ""},
		"a pipe":            {"MCPC_PAGER=" + pager, list + " | cat", ""},
		"a dumb one":        {"TERM=dumb", "MCPC_PAGER=" + pager + " " + list, ""},
		"nobody there":      {"CI=1", "MCPC_PAGER=" + pager + " " + list, ""},
		"watching":          {"MCPC_PAGER=" + pager, strings.Replace(list, "list", "list --watch --for 50ms", 1), "watching"},
		"short":             {"MCPC_PAGER=" + pager, "mcpc -s demo call get-sum a=1 b=2; echo tool-199", ""},
		"a pager that dies": {"MCPC_PAGER=" + aPager(t, "exit 3"), list + "; echo tool-199", "the pager "},
	} {
		env := []string{"MCPC_NO_PAGER=", c.env}
		out := terminal.Start(t, 80, env, program.MustHave(t, "bash"), "-c", c.command).Ends("0")
		if !strings.Contains(out, "tool-199") || !strings.Contains(out, c.says) || strings.Contains(out, "top of") != (name == "a pager that dies") {
			t.Errorf("%s: %.300q ... %q", name, out, out[max(0, len(out)-200):])
		}
	}
}
