package probe

import (
	"testing"

	"mcpc/internal/lint"
)

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
