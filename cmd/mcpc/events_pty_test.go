//go:build unix

package main

import (
	"strings"
	"testing"
)

// What a program reads as events is not drawn as a line of progress too.
func TestTerminalEvents(t *testing.T) {
	t.Parallel()
	tm := onTerminal(t, 80, nil, "mcpc", "-s", "demo", "call", "trigger-long-running-operation", "duration=1", "steps=2", "--events")
	tm.await(`"event":"result"`)
	if out := tm.ends("0"); strings.Contains(out, "waiting for the response") || strings.Contains(out, "1/2") {
		t.Errorf("%q", out)
	}
}
