package loopback

import (
	"testing"
)

func TestRejectForeignHostsAndOrigins(t *testing.T) {
	for _, c := range []struct {
		host    string
		origins []string
		site    string
		refused bool
	}{
		{"127.0.0.1:3001", nil, "", false},
		{"localhost:3001", nil, "", false},
		{"LOCALHOST", nil, "", false},
		{"[::1]:3001", nil, "", false},
		{"[::1]", nil, "", false},
		{"127.1.2.3", nil, "", false},
		{"[::ffff:127.0.0.1]:1", nil, "", false},
		{"", nil, "", true},
		{"evil.example:3001", nil, "", true},
		{"127.0.0.1.evil.example", nil, "", true},
		{"192.168.0.1:3001", nil, "", true},
		{"localhost.evil.example", nil, "", true},
		{"0.0.0.0:3001", nil, "", true},
		{"evil.example@127.0.0.1", nil, "", true},
		{"127.0.0.1", []string{"http://localhost:6274"}, "cross-site", false},
		{"127.0.0.1", []string{"https://[::1]:1"}, "", false},
		{"127.0.0.1", []string{"https://evil.example"}, "", true},
		{"127.0.0.1", []string{"null"}, "", true},
		{"127.0.0.1", []string{"file://localhost"}, "", true},
		{"127.0.0.1", []string{"http://localhost", "https://evil.example"}, "", true},
		{"127.0.0.1", []string{"", "https://evil.example"}, "", true},
		{"127.0.0.1", []string{"http://localhost https://evil.example"}, "", true},
		{"127.0.0.1", []string{"http://localhost,https://evil.example"}, "", true},
		{"127.0.0.1", []string{""}, "", false},
		{"127.0.0.1", nil, "cross-site", true},
		{"127.0.0.1", []string{""}, "cross-site", true},
		{"127.0.0.1", nil, "same-origin", false},
	} {
		fields := map[string][]string{"Origin": c.origins}
		if c.site != "" {
			fields["Sec-Fetch-Site"] = []string{c.site}
		}
		if got := RejectionReason(c.host, fields); (got != "") != c.refused {
			t.Errorf("%q, %q, %q: got %q", c.host, c.origins, c.site, got)
		}
	}
}

func TestHostsOfThisMachine(t *testing.T) {
	for host, want := range map[string]struct{ here, loopback bool }{
		"localhost": {true, true}, "LocalHost": {true, true}, "127.0.0.1": {true, true}, "127.1.2.3": {true, true},
		"::1": {true, true}, "::ffff:127.0.0.1": {true, true},
		"a.localhost": {true, false}, "A.b.LOCALHOST": {true, false},
		"": {}, "here": {}, "notlocalhost": {}, "localhost.example": {}, "a.localhost.example": {}, "127.0.0.1.example": {},
		"0.0.0.0": {}, "::": {}, "192.168.0.1": {}, "[::1]": {}, "127.0.0.1:80": {},
	} {
		if IsHere(host) != want.here || IsLoopback(host) != want.loopback {
			t.Errorf("%q: here %t, loopback %t", host, IsHere(host), IsLoopback(host))
		}
	}
	if RejectionReason("a.localhost:3001", nil) == "" {
		t.Error("a request for a name below localhost is accepted")
	}
}
