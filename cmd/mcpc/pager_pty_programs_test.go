//go:build unix && programs

package main

import (
	"strings"
	"testing"

	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

// A failure is told when the pager is gone, and with its exit code.
func TestTerminalPagerAndFailure(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, "tool fail\n\non tools/call\n    result {\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\""+strings.Repeat(`line\n`, 60)+"\"}]}\n")
	tm := terminal.Start(t, 80, []string{"MCPC_PAGER=" + aPager(t, untilQ), "MCPC_NO_PAGER=", "NO_COLOR=1"}, "mcpc", "call", "fail", "--", "spied", script, log)
	tm.Await(`line\r\nline\r\nline\r\n$`)
	tm.Type("q\n")
	if out := tm.Ends("5"); !strings.Contains(out, "line\r\nq\r\nmcpc: tool error") {
		t.Errorf("%q", out)
	}
}

// Help, topics, the glossary and an explained exchange are shown in the pager where they
// are longer than the screen; help that fits a screen is not, and --no-pager turns the pager off.
func TestTerminalPagerOfTexts(t *testing.T) {
	t.Parallel()
	const sum = "mcpc -s demo call get-sum a=1 b=2"
	for line, paged := range map[string]bool{
		"mcpc --help-all": true, "mcpc list --help-all": true, "mcpc help all": true, "mcpc help filters": true, "mcpc filters": true, "mcpc explain": true,
		sum + " --explain": true, sum + " && mcpc show last --explain": true,
		"mcpc": false, "mcpc -h": false, "mcpc list --help": false, "mcpc help list": false, "mcpc version --help": false, "mcpc explain isError": false, sum: false,
		"mcpc list --help-all --no-pager": false, "mcpc --no-pager help filters": false, "MCPC_NO_PAGER=1 mcpc list --help-all": false, "mcpc list --help-all | cat": false,
		sum + " --explain | cat": false, sum + " --explain 2>x; cat x": false, sum + " --explain --no-pager": false,
	} {
		env := []string{"MCPC_PAGER=" + aPager(t, ""), "MCPC_NO_PAGER=", "NO_COLOR=1"}
		out := terminal.Start(t, 80, env, program.MustHave(t, "bash"), "-c", line).Ends("0")
		if strings.Contains(out, "top of 0") != paged || strings.Count(out, "\n") < 3 && line != sum {
			t.Errorf("%s: it is not %v that a pager is used\n%s", line, paged, out)
		}
	}
}
