//go:build unix

package main

import (
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// Where the calls are typed no line of progress is drawn over them.
func TestTerminalTypedBatch(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "batch")
	tm.Await(`Ctrl-D ends it`)
	tm.Type(`{"tool":"trigger-long-running-operation","arguments":{"duration":1,"steps":2}}` + "\n")
	tm.Await(`"line":1,"kind":"ok"`)
	tm.Type("\x04")
	if out := tm.Ends("0"); strings.Contains(out, "waiting for the response") {
		t.Errorf("%q", out)
	}
}
