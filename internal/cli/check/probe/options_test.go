package probe

import (
	"testing"

	"mcpc/internal/lint"
)

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"5/s": 5, "30/m": 0.5, "3600/h": 1, "2": 2, "0": 0} {
		o := Options{rate: text}
		if err := o.Settle(); err != nil || o.perSecond(false) != want || o.perSecond(true) != want {
			t.Errorf("%s: %v %v", text, o.perSecond(false), err)
		}
	}
	for _, text := range []string{"fast", "5/day", "-1", "5/s/s", "NaN", "1e9"} {
		if o := (Options{rate: text}); o.Settle() == nil {
			t.Errorf("%s is taken for a rate", text)
		}
	}
	if o := (Options{}); o.perSecond(false) != defaultRate || o.perSecond(true) != 0 {
		t.Error("a server elsewhere has a limit, one on this machine has none")
	}
}

// Each rule of a probe is an active one, and each active rule has a probe, or a reason why it
// has none.
func TestProbesAndRules(t *testing.T) {
	probed := map[string]bool{}
	for _, p := range probes() {
		for _, id := range p.rules {
			r, ok := lint.Find(id)
			if !ok || r.Mode == lint.Passive {
				t.Errorf("%s is no active rule", id)
			}
			probed[id] = true
		}
	}
	for _, id := range authRules {
		probed[id] = true
	}
	for _, r := range lint.Rules() {
		if r.Mode == lint.Passive {
			continue
		}
		if reasons := unmade[r.ID] != ""; probed[r.ID] == reasons {
			t.Errorf("%s: probed is %v, and a reason to leave it out is %v", r.ID, probed[r.ID], reasons)
		}
	}
}
