//go:build unix

package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// followedRow is a row of mcpc log --follow: its number, and its time or the date of the
// day before.
var followedRow = regexp.MustCompile(`^\d+\.\d+ +(\d\d:\d\d:\d\d|\d\d-\d\d) `)

// Under one head, rows keep to its columns also where they came later.
func TestTerminalFollow(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "log", "--follow")
	tm.Await(`TIME +BY +SERVER +WHAT`)
	for _, name := range []string{"echo", "get-structured-content"} {
		call := exec.Command("mcpc", "-s", "demo", "call", name, "message=x", "--no-validate")
		call.Env = tm.Cmd.Env
		_ = call.Run()
		tm.Await("call " + name[:4] + ".*\n")
	}
	tm.Type("\x03")
	lines := terminal.Shown(tm.Ends("SIGINT"))
	at := strings.Index(lines[0], "CHANNEL")
	var rows []string
	for _, line := range lines[1:] {
		if line == "" || line == "^C" {
			continue
		}
		rows = append(rows, line)
		if cells := []rune(line); !followedRow.MatchString(line) {
			t.Errorf("%q is no row", line)
		} else if len(cells) > 80 || strings.TrimSpace(string(cells[at-2:at])) != "" || cells[at] == ' ' {
			t.Errorf("the channel is not at column %d of %q", at, line)
		}
	}
	for _, want := range []string{"  tools/call echo  ", "  call get-structured-"} {
		if n := strings.Count(strings.Join(rows, "\n"), want); n != 1 {
			t.Errorf("%d rows hold %q, want one:\n%s", n, want, strings.Join(rows, "\n"))
		}
	}
}
