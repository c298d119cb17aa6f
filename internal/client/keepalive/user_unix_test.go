//go:build unix

package keepalive

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/client/process"
)

// Of what the server writes to standard error while no command is connected the end is kept.
func TestKeptStderrIsBounded(t *testing.T) {
	s := &supervisor{storedStderr: process.NewTail()}
	for i := range 10_000 {
		s.broadcast(markErr, fmt.Appendf(nil, "line %d of many", i))
	}
	kept := slices.Collect(strings.Lines(s.storedStderr.Text()))
	if n := len(kept); n < 1000 || n > 5000 || kept[n-1] != "line 9999 of many\n" {
		t.Errorf("%d lines are kept, the last of them %q", n, kept[n-1])
	}
}

// A user that does not read is disconnected, and the others continue.
func TestCommandThatDoesNotReadIsDisconnected(t *testing.T) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	u := &user{conn: theirs, wake: make(chan struct{}, 1)}
	big := make([]byte, maxUnread/2+1)
	u.appendLocked(markOut, big)
	u.appendLocked(markOut, big)
	if !u.noMoreOutput || len(u.output) > 0 {
		t.Error("it still waits for him")
	}
	if _, err := ours.Read(make([]byte, 1)); err == nil {
		t.Error("he is still connected")
	}
}
