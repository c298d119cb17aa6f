//go:build unix && programs

package main

import (
	"strings"
	"testing"

	"mcpc/internal/shellwords"
	"mcpc/internal/tests/program"
	"mcpc/internal/tests/terminal"
)

func TestTerminalCtrlCStopsALoop(t *testing.T) {
	t.Parallel()
	script, log := playFile(t, silent)
	loop := "for i in 1 2 3; do mcpc call wait -- spied " + shellwords.Quote(script) + " " + shellwords.Quote(log) + "; done; echo the loop went on"
	tm := terminal.Start(t, 80, nil, program.MustHave(t, "bash"), "-c", loop)
	program.AwaitFile(t, log, "IN tools/call")
	tm.Type("\x03")
	out := tm.Ends("SIGINT")
	if strings.Contains(out, "went on") || strings.Count(program.Read(t, log), "IN tools/call") != 1 {
		t.Errorf("the loop went on: %q", out)
	}
}
