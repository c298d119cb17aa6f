package call

import (
	"testing"
	"time"

	"mcpc/internal/wire"
)

// A server that is still starting may be absent, slow, or answer with something else than MCP.
func TestIsNotReady(t *testing.T) {
	t.Parallel()
	starting := map[wire.Kind]bool{wire.Transport: true, wire.Timeout: true, wire.BadResponse: true}
	for _, e := range wire.ExitCodes {
		if got := isNotReady(wire.Outcome{Kind: e.Kind}); got != starting[e.Kind] {
			t.Errorf("%s: %t", e.Kind, got)
		}
	}
}

// A server that takes long until it is ready is not reported as a fast one.
func TestPingSaysHowLongTheStartTook(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ready time.Duration
		want  string
	}{
		{20 * time.Millisecond, "s answered ping in 7 ms"},
		{slowStart - 1, "s answered ping in 7 ms"},
		{9100 * time.Millisecond, "s was ready after 9.1 s and answered ping in 7 ms"},
	} {
		if got := pingLine("s", "ping", c.ready, 7*time.Millisecond); got != c.want {
			t.Errorf("%s: got %q", c.ready, got)
		}
	}
}
