package mock

import (
	"strings"
	"testing"

	"mcpc/internal/redact"
)

// TestReportsHaveNoSecrets: neither a value with the name of a secret, if a report has the value
// alone, nor a part of a known secret, if a report cuts a text.
func TestReportsHaveNoSecrets(t *testing.T) {
	const known = "known-value-of-the-environment"
	secrets := &redact.Secrets{}
	secrets.Learn(known)
	p, said := player(t, recordingOf(talk(asking)), func(o *PlayerOptions) { o.Hide = secrets.Text })
	name := strings.Repeat("x", maxShown-10) + known
	var out strings.Builder
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1,"password":"pw1"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"tea","arguments":{"cups":1,"token":["correct-horse"]}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"` + name + `"}}
{"jsonrpc":"2.0","id":5,"method":"` + name + `"}
`
	if err := p.Stdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	reports := strings.Join(said.lines, "\n") + out.String()
	if strings.Count(reports, "/arguments/password") != 2 || strings.Count(reports, "miss: ") != 4 {
		t.Fatalf("reports: %s", reports)
	}
	for _, secret := range []string{"pw1", "correct-horse", known[:9]} {
		if strings.Contains(reports, secret) {
			t.Errorf("%s is in the reports:\n%s", secret, reports)
		}
	}
}
