package transport

import (
	"context"
	"encoding/json"
	"testing"

	"mcpc/internal/wire"
)

// A request that an ended connection did not accept fails in the phase send: no response was
// awaited.
func TestUnsentRequestFailsInPhaseSend(t *testing.T) {
	r := newRouter(nil)
	r.end(&Fault{Kind: wire.Transport, Phase: "read", Text: "the server ended"})
	for reached, want := range map[wire.Reached]string{wire.Unsent: "send", wire.Unknown: "read"} {
		if got := r.endedReply(reached).Fault; got.Phase != want || got.Reached != reached {
			t.Errorf("%v: phase %q and reached %v, want %q", reached, got.Phase, got.Reached, want)
		}
	}
}

// A response just before the connection's end is the outcome, not the end. If both are there, wait
// selects either at random, so the test repeats it.
func TestAnswerBeforeTheEnd(t *testing.T) {
	answer := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	for range 200 {
		r := newRouter(nil)
		w := r.register(&Outgoing{ID: json.RawMessage("1")})
		r.deliver(answer)
		r.end(&Fault{Kind: wire.Transport, Phase: "read", Text: "the server ended"})
		if got := r.wait(context.Background(), w); got.Message != answer || got.Fault != nil {
			t.Fatalf("got %+v", got)
		}
	}
}

// A request without an answer ends with the line, for the first reason that there is.
func TestNoAnswerBeforeTheEnd(t *testing.T) {
	r := newRouter(nil)
	w := r.register(&Outgoing{ID: json.RawMessage("1")})
	for _, text := range []string{"the server ended", "a later reason"} {
		r.end(&Fault{Kind: wire.Transport, Phase: "read", Text: text})
	}
	if got := r.wait(context.Background(), w); got.Message != nil || got.Fault == nil || got.Fault.Text != "the server ended" {
		t.Errorf("got %+v", got)
	}
}
