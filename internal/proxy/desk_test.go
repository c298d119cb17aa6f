package proxy

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"mcpc/internal/wire"
)

func desk(t *testing.T, filter string) *Desk {
	t.Helper()
	d := &Desk{Now: time.Now}
	if err := d.Intercept("view", filter); err != nil {
		t.Fatal(err)
	}
	return d
}

func message(d *Desk, text string) Candidate {
	m := wire.ParseMessage([]byte(text))
	return Candidate{Message: m, Row: d.Row("demo", "", wire.Sent, nil, m), Record: func(wire.HeldFacts, []byte) {}}
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestMessageHeldTooLongIsReleased(t *testing.T) {
	d := desk(t, "")
	d.HoldLimit = time.Millisecond
	if v := d.Hold(t.Context(), message(d, ping)); v.How != Released || v.Why != "nothing was decided in 1ms" {
		t.Errorf("got %+v", v)
	}
	d.HoldLimit = 0
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v := d.Hold(ctx, message(d, ping)); v.How != Released || v.Why != "the connection ended" {
		t.Errorf("got %+v", v)
	}
}

func TestMessagesBeyondTheLimitAreNotHeld(t *testing.T) {
	d := desk(t, "")
	if v := d.Hold(t.Context(), message(d, `{"jsonrpc":"2.0","method":"`+strings.Repeat("x", maxWaitingMessage)+`"}`)); v.How != "" {
		t.Errorf("a long message was %s", v.How)
	}
	done := make(chan Ruling, maxWaiting)
	m := message(d, ping)
	for range maxWaiting {
		go func() { done <- d.Hold(t.Context(), m) }()
	}
	changed, end := d.Changes()
	defer end()
	for held, _ := d.List(); len(held) < maxWaiting; held, _ = d.List() {
		<-changed
	}
	if v := d.Hold(t.Context(), m); v.How != "" {
		t.Errorf("one too many was %s", v.How)
	}
	if _, passed := d.List(); passed != 2 {
		t.Errorf("%d are said to have passed, want 2", passed)
	}
	d.StopIntercept("view", "")
	for range maxWaiting {
		if v := <-done; v.How != Released {
			t.Errorf("got %+v", v)
		}
	}
	if d.waitingBytes != 0 || d.MayHold() {
		t.Error("something is left on the desk")
	}
}

func TestOnlyRequestsAreAnswered(t *testing.T) {
	d := desk(t, "")
	done := make(chan Ruling, 1)
	go func() { done <- d.Hold(t.Context(), message(d, `{"jsonrpc":"2.0","method":"x"}`)) }()
	changed, end := d.Changes()
	defer end()
	for held, _ := d.List(); len(held) == 0; held, _ = d.List() {
		<-changed
	}
	if err := d.Decide(1, Ruling{How: Answered}); err == nil || err.Error() != "a notification cannot be answered" {
		t.Errorf("got %v", err)
	}
	if err := d.Decide(1, Ruling{How: Dropped}); err != nil || (<-done).How != Dropped {
		t.Errorf("got %v", err)
	}
}

func TestRowsOfResponses(t *testing.T) {
	d := desk(t, "")
	asked := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x"}}`))
	d.Row("demo", "s", wire.Sent, nil, asked)
	answer := wire.ParseMessage([]byte(`{"jsonrpc":"2.0","id":"a","result":{}}`))
	if r := d.Row("demo", "other", wire.Received, nil, answer); r.Method != "" {
		t.Errorf("another session's request: %q", r.Method)
	}
	if r := d.Row("demo", "s", wire.Received, nil, answer); r.Method != "tools/call" || r.Name != "x" || r.Dir != wire.Received {
		t.Errorf("got %q %q %s", r.Method, r.Name, r.Dir)
	}
}

// Requests wait for their responses in memory: their number is bounded, and what each takes.
func TestRowRemembersNoLongNames(t *testing.T) {
	d := desk(t, "name:x")
	long := strings.Repeat("a", 1<<20)
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":"` + long + `","method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + long + `"}}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`,
	} {
		d.Row("demo", "", wire.Sent, nil, wire.ParseMessage([]byte(raw)))
	}
	if n := len(maps.Collect(d.pending.All())); n != 1 {
		t.Errorf("%d requests are remembered, want the short one", n)
	}
}
