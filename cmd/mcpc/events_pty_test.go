//go:build unix

package main

import (
	"strings"
	"testing"

	"mcpc/internal/tests/terminal"
)

// What a program reads as events is not drawn as a line of progress too.
func TestTerminalEvents(t *testing.T) {
	t.Parallel()
	tm := terminal.Start(t, 80, nil, "mcpc", "-s", "demo", "call", "trigger-long-running-operation", "duration=1", "steps=2", "--events")
	tm.Await(`"event":"result"`)
	if out := tm.Ends("0"); strings.Contains(out, "waiting for the response") || strings.Contains(out, "1/2") {
		t.Errorf("%q", out)
	}
}
