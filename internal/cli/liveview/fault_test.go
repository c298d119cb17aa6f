package liveview

import (
	"strings"
	"testing"
	"time"

	"mcpc/internal/live/control"
	"mcpc/internal/live/view"
)

// TestSetFault adds each fault to the tap of the exchange, and removes them.
func TestSetFault(t *testing.T) {
	desk, g := holding(t)
	a := newHolder(g)
	a.Changed = func() {}
	a.ActorOptions.Powers.Intercept = true
	fault := view.Fault{Method: "tools/call", Name: "x\nwhen do \"hang", Target: "demo"}
	for _, kind := range view.FaultKinds() {
		fault.Kind = kind.Kind
		if kind.Kind == "" {
			continue
		}
		text, err := a.SetFault(t.Context(), fault)
		if (err != nil) != (kind.Stdio == "") {
			t.Errorf("%s: %q %v", kind.Kind, text, err)
		}
	}
	rules := desk.Rules(false)
	if len(rules) != 5 {
		t.Fatalf("got %d rules, want 5: %+v", len(rules), rules)
	}
	if want := `when method:tools/call name:"x when do \"hang" #1 do delay 5s`; rules[0].Text != want {
		t.Errorf("got %s, want %s", rules[0].Text, want)
	}
	// A rule that the user has set stays.
	if _, err := g.AddRules(t.Context(), 11, "mcpc fault", "when do hang"); err != nil {
		t.Fatal(err)
	}
	text, err := a.SetFault(t.Context(), view.Fault{})
	if rules := desk.Rules(false); err != nil || text != "5 faults of this view removed" || len(rules) != 1 {
		t.Errorf("got %q %v, and left %+v", text, err, rules)
	}
	for name, c := range map[string]struct {
		fault view.Fault
		want  string
	}{
		"another server": {view.Fault{Kind: "cut", Method: "ping", Target: "other"}, "no tap or proxy of this server"},
		"unknown kind":   {view.Fault{Kind: "explode", Method: "ping", Target: "demo"}, `no fault "explode"`},
		"no method":      {view.Fault{Kind: "cut", Target: "demo"}, "no fault"},
	} {
		if _, err := a.SetFault(t.Context(), c.fault); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.ActorOptions.Powers.Intercept = false
	if _, err := a.SetFault(t.Context(), fault); err == nil || !strings.Contains(err.Error(), "--allow=intercept") {
		t.Errorf("without the power: %v", err)
	}
}

// TestArmedFaults lists the faults that the view has set until they are removed, here or elsewhere.
func TestArmedFaults(t *testing.T) {
	desk, g := holding(t)
	a := newHolder(g)
	t.Cleanup(a.stop)
	a.Changed = func() {}
	a.ActorOptions.Powers.Intercept = true
	for _, kind := range []string{"cut", "delay", "drop"} {
		fault := view.Fault{Kind: kind, Method: "tools/call", Name: "x", Target: "demo"}
		if _, err := a.SetFault(t.Context(), fault); err != nil {
			t.Fatal(err)
		}
	}
	armed := a.Faults()
	if len(armed) != 3 || armed[1].Kind != "delay" || armed[1].Request != "tools/call x" || armed[1].Name == "" {
		t.Fatalf("armed are %+v", armed)
	}
	text, err := a.SetFault(t.Context(), view.Fault{ID: armed[1].ID})
	if err != nil || text != "removed: delay the response by 5 s for tools/call x" || len(desk.Rules(false)) != 2 {
		t.Errorf("got %q %v, and left %+v", text, err, desk.Rules(false))
	}
	for _, id := range []string{armed[1].ID, "1:1", "x"} {
		if _, err := a.SetFault(t.Context(), view.Fault{ID: id}); err == nil || !strings.Contains(err.Error(), "has fired") {
			t.Errorf("%s: %v", id, err)
		}
	}
	desk.Remove(1) // as mcpc fault does
	for begin := time.Now(); len(a.Faults()) != 1; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("still armed: %+v", a.Faults())
		}
	}
	if _, err := a.SetFault(t.Context(), view.Fault{}); err != nil || len(a.Faults()) > 0 {
		t.Errorf("got %v, and armed are %+v", err, a.Faults())
	}
}

// TestFaultPeer prefers the command that recorded the exchange to another of the same server.
func TestFaultPeer(t *testing.T) {
	peers := []control.Hello{
		{Pid: 1, Target: "tea", Run: 7}, {Pid: 2, Target: "coffee", Run: 8}, {Pid: 3, Target: "tea", Run: 9}, {Pid: 4},
	}
	for _, c := range []struct {
		key, target string
		want        int
	}{{"7.4", "tea", 1}, {"8.1", "milk", 2}, {"3.1", "tea", 3}, {"", "coffee", 2}, {"", "", 0}, {"0.1", "milk", 0}} {
		got, err := faultPeer(peers, view.Fault{Key: c.key, Target: c.target})
		if got.Pid != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s at %s: %d %v", c.key, c.target, got.Pid, err)
		}
	}
	several := faultFilter(peers[1], view.Fault{Method: "tools/call", Name: "x", Target: "milk"})
	if want := "when method:tools/call name:x target:milk"; several != want {
		t.Errorf("got %s, want %s", several, want)
	}
}
