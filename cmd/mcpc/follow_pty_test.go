//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// Under one head, rows keep to its columns also where they came later.
func TestTerminalFollow(t *testing.T) {
	t.Parallel()
	tm := onTerminal(t, 80, nil, "mcpc", "log", "--follow")
	tm.await(`TIME +BY +SERVER +WHAT`)
	for _, name := range []string{"echo", "get-structured-content"} {
		call := exec.Command("mcpc", "-s", "demo", "call", name, "message=x", "--no-validate")
		call.Env = tm.cmd.Env
		_ = call.Run()
		tm.await("call " + name[:4])
	}
	tm.typed("\x03")
	lines := shown(tm.ends("SIGINT"))
	at := strings.Index(lines[0], "CHANNEL")
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "1") && !strings.HasPrefix(line, "2") {
			continue
		}
		if len([]rune(line)) > 80 || strings.TrimSpace(string([]rune(line)[at-2:at])) != "" || []rune(line)[at] == ' ' {
			t.Errorf("the channel is not at column %d of %q", at, line)
		}
	}
}
