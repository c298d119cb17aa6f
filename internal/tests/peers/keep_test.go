//go:build peers

package peers

import (
	"strings"
	"testing"
)

// TestPeerKept keeps server-everything running between commands: the next command finds the changes
// of a command, and another command fetches the task that a command began.
func TestPeerKept(t *testing.T) {
	t.Parallel()
	p := peerNamed(t, "everything-stdio")
	target := p.start(t)
	m := newRunner(t)
	m.want(0, initWith(target, "--keep", "--as", "kept")...)
	t.Cleanup(func() { m.run("close", "--all") })
	for _, want := range []string{"Started simulated", "Stopped simulated", "Started simulated"} {
		if got := m.want(0, "call", "toggle-simulated-logging").stdout; !strings.HasPrefix(got, want) {
			t.Errorf("the switch says %q, want %s", got, want)
		}
	}
	id := strings.TrimSpace(m.want(0, "call", "simulate-research-query", "topic=bees", "--task").stdout)
	if got := m.want(0, "tasks", "wait", id).stdout; !strings.HasPrefix(got, "# Research Report: bees\n") {
		t.Errorf("the report:\n%s", got)
	}
	if got := m.want(0, "close").stderr; !strings.Contains(got, "closed kept and stopped its server") {
		t.Errorf("close said %q", got)
	}
}
