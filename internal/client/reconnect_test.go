package client

import (
	"testing"

	"mcpc/internal/wire"
)

// The outcome of a call is about that call, whatever exchange was last.
func TestOutcomeIsAboutTheCall(t *testing.T) {
	lost := wire.Outcome{Kind: wire.Transport, Reached: wire.Unknown}
	unsent := wire.Outcome{Kind: wire.Transport, Retryable: true}
	of := func(o wire.Outcome, method string) wire.Outcome { o.Method = method; return o }
	for _, c := range []struct {
		name            string
		method          string
		o               wire.Outcome
		left            bool
		sent, retryable bool
	}{
		{"the call itself was lost", "tools/call", of(lost, "tools/call"), true, true, false},
		{"the call did not leave", "tools/call", of(unsent, "tools/call"), false, false, true},
		{"the handshake before it was lost", "tools/call", of(lost, "initialize"), false, false, true},
		{"the handshake behind a lost call did not leave", "tools/call", of(unsent, "initialize"), true, true, false},
		{"a second attempt did not leave", "tools/call", of(unsent, "tools/call"), true, true, false},
		{"a second attempt of what only reads did not leave", "tools/list", of(unsent, "tools/list"), true, true, true},
	} {
		got := withPart(&Call{Method: c.method}, c.o, c.left)
		if got.OperationSent() != c.sent || got.Retryable != c.retryable {
			t.Errorf("%s: sent %t, retryable %t", c.name, got.OperationSent(), got.Retryable)
		}
	}
}
