package probe

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// The step at which a conversation could not be opened goes by the outcome.
func TestStepsThatFail(t *testing.T) {
	for _, c := range []struct {
		name            string
		outcome         wire.Outcome
		http, connected bool
		want            string
	}{
		{"no program", wire.Outcome{Kind: wire.Transport, Reached: wire.Unsent}, false, false, "process"},
		{"a program that ended", wire.Outcome{Kind: wire.Timeout, Process: &wire.ProcessFacts{}}, false, false, "process"},
		{"a program with another language", wire.Outcome{Kind: wire.BadResponse}, false, false, "revision"},
		{"no name", wire.Outcome{Kind: wire.Transport, Phase: "dns"}, true, false, "dns"},
		{"a certificate", wire.Outcome{Kind: wire.Transport, Phase: "tls"}, true, true, "tls"},
		{"a login", wire.Outcome{Kind: wire.Auth}, true, true, "auth"},
		{"a closed port", wire.Outcome{Kind: wire.Transport}, true, false, "tcp"},
		{"no answer in time", wire.Outcome{Kind: wire.Timeout}, true, false, "tcp"},
		{"no response", wire.Outcome{Kind: wire.Timeout}, true, true, "http"},
		{"a wrong status", wire.Outcome{Kind: wire.Transport, HTTP: &wire.HTTPFacts{}}, true, false, "http"},
		{"an error", wire.Outcome{Kind: wire.RPCFailed}, true, true, "revision"},
	} {
		if got := failedStep(c.outcome, c.http, c.connected); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// After a failed step the others of its transport are not reached.
func TestStepsThatAreNotReached(t *testing.T) {
	names := func(l ladder) string {
		var all []string
		for _, step := range l.steps {
			all = append(all, step.Name+":"+step.State)
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		steps []string
		want  string
	}{
		{[]string{"process:ok", "revision:failed"}, "process:ok revision:failed lists:not reached schemas:not reached"},
		{
			[]string{"dns:ok", "tcp:failed"},
			"dns:ok tcp:failed tls:not reached http:not reached revision:not reached auth:not reached lists:not reached schemas:not reached",
		},
		{[]string{"process:ok", "revision:ok"}, "process:ok revision:ok"},
	} {
		var l ladder
		for _, step := range c.steps {
			name, state, _ := strings.Cut(step, ":")
			l.add(name, map[string]string{"ok": verdict.OK, "failed": verdict.Failed}[state], "", "")
		}
		l.addUnreached()
		if got := names(l); got != c.want {
			t.Errorf("%q: got %s", c.steps, got)
		}
	}
}

// A certificate that ends within two weeks is warned of; the first of a chain to end counts.
func TestCertificatesThatExpire(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	chain := func(days ...int) *tls.ConnectionState {
		s := &tls.ConnectionState{Version: tls.VersionTLS13}
		for _, n := range days {
			s.PeerCertificates = append(s.PeerCertificates, &x509.Certificate{NotAfter: now.AddDate(0, 0, n)})
		}
		return s
	}
	for _, c := range []struct {
		name        string
		connection  *tls.ConnectionState
		state, text string
		fix         string
	}{
		{"no TLS", nil, verdict.Skipped, "", ""},
		{"no certificate", chain(), verdict.Skipped, "", ""},
		{"a long time", chain(90), verdict.OK, "TLS 1.3, the certificate expires in 90 days (2027-01-30)", ""},
		{"two weeks", chain(14), verdict.OK, "TLS 1.3, the certificate expires in 14 days (2026-11-15)", ""},
		{
			"less", chain(90, 13), verdict.Warning, "TLS 1.3, the certificate expires in 13 days (2026-11-14)",
			"renew the certificate",
		},
		{
			"a day", chain(1), verdict.Warning, "TLS 1.3, the certificate expires in 1 day (2026-11-02)",
			"renew the certificate",
		},
	} {
		state, text, fix := certificateStep(c.connection, now)
		if state != c.state || text != c.text || fix != c.fix {
			t.Errorf("%s: got %q, %q, %q", c.name, state, text, fix)
		}
	}
}

// The schemas of the tools are one step.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	const good, bad = `{"type":"object"}`, `{"type":"nothing"}`
	for _, c := range []struct{ tools, state, text string }{
		{``, verdict.Skipped, "there are none"},
		{`{"name":"a"}`, verdict.Skipped, "there are none"},
		{
			`{"name":"a","inputSchema":` + good + `}|{"name":"b","inputSchema":` + good + `,"outputSchema":` + good + `}`,
			verdict.OK, "3 can be used",
		},
		{
			`{"name":"a","inputSchema":` + bad + `}|{"name":"b","inputSchema":` + good + `,"outputSchema":` + bad + `}`,
			verdict.Warning,
			"2 of 3 cannot be used: inputSchema of a, outputSchema of b",
		},
		{
			strings.Repeat(`|{"name":"a","inputSchema":`+bad+`}`, 5), verdict.Warning,
			"5 of 5 cannot be used: inputSchema of a, inputSchema of a, inputSchema of a",
		},
	} {
		var l ladder
		var tools []json.RawMessage
		for _, tool := range strings.Split(c.tools, "|") {
			if tool != "" {
				tools = append(tools, json.RawMessage(tool))
			}
		}
		l.addSchemas(tools)
		if got := l.steps[0]; got.State != c.state || got.Text != c.text || !l.hasStep("schemas") {
			t.Errorf("%s: got %q %q", c.tools, got.State, got.Text)
		}
	}
}

// A server that is ready late is a warning, over HTTP and stdio.
func TestSlowStarts(t *testing.T) {
	var l ladder
	l.addReady("process", "node x", slowStart-1)
	l.addReady("http", "HTTP 200 OK", 9100*time.Millisecond)
	if got := l.steps[0]; got.State != verdict.OK || got.Text != "node x" {
		t.Errorf("got %+v", got)
	}
	if got := l.steps[1]; got.State != verdict.Warning || got.Text != "HTTP 200 OK, ready after 9.1 s" || got.Fix == "" {
		t.Errorf("got %+v", got)
	}
}
