package cmdutil

import (
	"strings"
	"testing"
	"time"

	"mcpc/internal/cli/console"
	"mcpc/internal/diff"
	"mcpc/internal/wire"
)

// exchange gives two frames to whatever watches.
func exchange(f *Factory, id, method string) {
	watch := *f.Watch.Load()
	now := time.Unix(100, 0)
	watch(wire.Frame{
		Seq: 1, Time: now, Dir: wire.Sent,
		Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`),
	})
	watch(wire.Frame{Seq: 2, Time: now, Dir: wire.Received, Raw: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)})
}

// --explain shows the exchange that the command is about, and names the ones before it.
func TestExplainedExchanges(t *testing.T) {
	for _, c := range []struct {
		methods  string
		note     string
		has, not string
	}{
		{
			"tools/call", "earlier requests of this command: initialize, tools/list (-vv shows them)", `"method":"tools/call"`,
			`"method":"tools/list"`,
		},
		{
			"tools/list tools/call", "earlier requests of this command: initialize (-vv shows them)", `"method":"tools/list"`,
			`"method":"initialize"`,
		},
		{"prompts/get", "", `"method":"initialize"`, "earlier requests"},
	} {
		f, _, stderr := answering(t, "--explain")
		f.ShowTraffic(0, true)
		exchange(f, "1", "initialize")
		exchange(f, "2", "tools/list")
		exchange(f, "3", "tools/call")
		PrintExplanation(t.Context(), f, strings.Fields(c.methods)...)
		got := strings.ReplaceAll(stderr.String(), `": "`, `":"`)
		if !strings.Contains(got, c.note) || !strings.Contains(got, c.has) || strings.Contains(got, c.not) {
			t.Errorf("%s: got %s", c.methods, got)
		}
	}
	f, _, stderr := answering(t)
	if PrintExplanation(t.Context(), f, "x"); stderr.Len() > 0 {
		t.Errorf("without --explain: %s", stderr)
	}
	f.ShowTraffic(1, false)
	if exchange(f, "1", "ping"); !strings.Contains(stderr.String(), "ping") {
		t.Errorf("-v shows %q", stderr)
	}
	if f.ShowTraffic(0, false); f.Watch.Load() != nil {
		t.Error("the traffic is shown without -v")
	}
}

// A change of an approved definition is shown once in a command of many calls.
func TestChangesAreShownOnce(t *testing.T) {
	f, _, stderr := answering(t)
	f.Secrets.Learn("hidden-word")
	f.Repeats = &console.RepeatedWarnings{}
	change := diff.Change{Text: "the description has a hidden-word"}
	changes := []diff.Change{change, change} // of two places that have one sentence
	f.ShowChanges(wire.Warning, "get-sum changed", changes)
	first := stderr.String()
	if !strings.HasPrefix(first, "mcpc: warning: get-sum changed\n") ||
		strings.Count(first, "the description has a ") != 1 || strings.Contains(first, "hidden-word") {
		t.Error(first)
	}
	if f.ShowChanges(wire.Warning, "get-sum changed", changes); stderr.String() != first {
		t.Errorf("shown again: %s", stderr)
	}
	if f.ShowChanges(wire.Info, "echo changed", nil); stderr.String() != first+"mcpc: note: echo changed\n" {
		t.Errorf("got %s", stderr)
	}
}
