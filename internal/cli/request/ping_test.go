package request

import (
	"testing"

	"mcpc/internal/wire"
)

// A server that is still starting may be absent, slow, or answer with something else than MCP.
func TestIsNotReady(t *testing.T) {
	t.Parallel()
	starting := map[wire.Kind]bool{wire.Transport: true, wire.Timeout: true, wire.BadResponse: true}
	for _, e := range wire.Endings {
		if got := isNotReady(wire.Outcome{Kind: e.Kind}); got != starting[e.Kind] {
			t.Errorf("%s: %t", e.Kind, got)
		}
	}
}
