package probe

import (
	"net"
	"net/url"
	"slices"
	"testing"

	"mcpc/internal/fuzz"
	"mcpc/internal/lint"
)

// Each rule of a probe is active, and each active rule has a probe, or a reason for having no
// probe.
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
		if r.Mode == lint.Passive || slices.Contains(fuzz.Rules, r.ID) {
			continue
		}
		hasReason := withoutProbe[r.ID] != ""
		if probed[r.ID] && hasReason {
			t.Errorf("%s has a probe: remove it from withoutProbe in safe.go", r.ID)
		}
		if !probed[r.ID] && !hasReason {
			t.Errorf("%s has no probe: add one to the table of its mode %s, or say why not in withoutProbe in safe.go", r.ID, r.Mode)
		}
	}
}

// A port that takes connections is found among the addresses, and a closed one is not.
func TestReachableFindsOpenPort(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	here, gone := open.Addr().String(), "127.0.0.1:1"
	if got := findReachable(t.Context(), []string{gone, here}); got != here {
		t.Errorf("found %q, not %q", got, here)
	}
	if got := findReachable(t.Context(), []string{gone}); got != "" {
		t.Errorf("found %q", got)
	}
}

// A URL without a port has the port of its scheme.
func TestOtherAddressesHaveThePortOfTheURL(t *testing.T) {
	var addresses []net.Addr
	for _, ip := range []string{"127.0.0.1", "::1", "fe80::1", "192.0.2.1", "2001:db8::1"} {
		addresses = append(addresses, &net.IPNet{IP: net.ParseIP(ip)})
	}
	for text, port := range map[string]string{
		"http://localhost/mcp": "80", "https://localhost/mcp": "443", "http://localhost:3001/mcp": "3001", "https://[::1]:8443": "8443",
	} {
		endpoint, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"192.0.2.1:" + port, "[2001:db8::1]:" + port}
		if got := otherAddresses(endpoint, addresses); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
