package client

import (
	"testing"

	"mcpc/internal/wire"
)

// A line that has ended took nothing, so that nobody waited there for an answer.
func TestNothingIsReadWhereNothingWasSent(t *testing.T) {
	r := newRouter(nil)
	r.over(&fault{kind: wire.Transport, phase: "read", text: "the server ended"})
	for reached, want := range map[wire.Reached]string{wire.Unsent: "send", wire.Unknown: "read"} {
		if got := r.overFault(reached).fault; got.phase != want || got.reached != reached {
			t.Errorf("%v: phase %q and reached %v, want %q", reached, got.phase, got.reached, want)
		}
	}
}
