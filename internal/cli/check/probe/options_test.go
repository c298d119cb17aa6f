package probe

import "testing"

func TestRates(t *testing.T) {
	for text, want := range map[string]float64{"5/s": 5, "30/m": 0.5, "3600/h": 1, "2": 2, "0": 0} {
		o, err := settled(t, "--rate", text)
		if err != nil || o.requestsPerSecond(false) != want || o.requestsPerSecond(true) != want {
			t.Errorf("%s: %v %v", text, o.requestsPerSecond(false), err)
		}
	}
	for _, text := range []string{"fast", "5/day", "-1", "5/s/s", "NaN", "1e9"} {
		if _, err := settled(t, "--rate", text); err == nil {
			t.Errorf("%s is taken for a rate", text)
		}
	}
	if o := (Options{}); o.requestsPerSecond(false) != defaultRate || o.requestsPerSecond(true) != 0 {
		t.Error("a server elsewhere has a limit, one on this machine has none")
	}
}
