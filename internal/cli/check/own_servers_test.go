package check_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/clitest"
)

// meant are the findings about mcpc's own servers that are meant, by the beginning of their server.
var meant = map[string][]string{
	"": {
		"L210 server/discover", // the demo has a log
	},
	"demo": {
		"L056 results", "L090 no session id", // what the Go SDK sends
		"L127 tool send-log-messages", // sends messages, and changes nothing
	},
	"inspect": {
		"L056 results",
		"L122 tools/call", // the text has the same as structuredContent, in fewer words than JSON
	},
	"mock": { // plays the demo, and does not judge its client
		"L034 tools/list before initialize", "L056 results", "L127 tool send-log-messages", "L175 the log level loud",
	},
}

// TestOwnServersAreClean checks mcpc's own servers in both eras, over both transports.
func TestOwnServersAreClean(t *testing.T) {
	home := clitest.EnterHome(t)
	home.MCPC("-s", "demo", "list", "all", "--record", "all.jsonl")
	served := func(words ...string) string {
		return clitest.Serve(t, nil, append(words, "127.0.0.1:0")...).URL
	}
	for name, server := range map[string][]string{
		"demo":          {"--", "mcpc", "demo", "--stdio"},
		"demo, HTTP":    {served("demo", "--listen")},
		"serve":         {"--", "mcpc", "serve", "demo=demo"},
		"serve, HTTP":   {served("serve", "demo=demo", "--http")},
		"mock":          {"--", "mcpc", "mock", "all.jsonl", "--stdio"},
		"mock, HTTP":    {served("mock", "all.jsonl", "--listen")},
		"inspect --mcp": {"--", "mcpc", "inspect", "--mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			words := append([]string{"check", "--json", "--timeout", "60s", "--era", "both", "--negative"}, server...)
			out := home.MCPC(words...)
			var report struct {
				Revisions []string
				Findings  []struct {
					Rule, Severity, Subject string
					Evidence                []struct{ Got string }
				}
			}
			if err := json.Unmarshal([]byte(out.Stdout), &report); err != nil {
				t.Fatalf("%v: %s", err, out.Stderr)
			}
			if len(report.Revisions) != 2 {
				t.Errorf("judged in %q", report.Revisions)
			}
			for _, f := range report.Findings {
				kind, _, _ := strings.Cut(name, " ")
				if len(f.Evidence) > 0 && strings.Contains(f.Evidence[0].Got, "the recording has no such request") {
					continue
				}
				allowed := slices.Concat(meant[""], meant[strings.TrimSuffix(kind, ",")])
				if !slices.ContainsFunc(allowed, func(m string) bool { return strings.HasPrefix(f.Rule+" "+f.Subject, m) }) {
					t.Errorf("%s %s, %s: %v", f.Severity, f.Rule, f.Subject, f.Evidence)
				}
			}
		})
	}
}
