//go:build unix

package main

import (
	"strings"
	"testing"
)

// Where the calls are typed no line of progress is drawn over them.
func TestTerminalTypedBatch(t *testing.T) {
	t.Parallel()
	tm := onTerminal(t, 80, nil, "mcpc", "-s", "demo", "batch")
	tm.await(`Ctrl-D ends it`)
	tm.typed(`{"tool":"trigger-long-running-operation","arguments":{"duration":1,"steps":2}}` + "\n")
	tm.await(`"line":1,"kind":"ok"`)
	tm.typed("\x04")
	if out := tm.ends("0"); strings.Contains(out, "waiting for the response") {
		t.Errorf("%q", out)
	}
}
