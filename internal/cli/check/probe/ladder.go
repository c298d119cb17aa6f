package probe

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/verdict"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// A Ladder has the steps of the way to a server as far as they were taken.
type ladder struct{ steps []verdict.Rung }

// HTTP and stdio are the steps over HTTP and over stdio.
var (
	httpSteps  = []string{"dns", "tcp", "tls", "http", "revision", "auth", "lists", "schemas"}
	stdioSteps = []string{"process", "revision", "lists", "schemas"}
)

// certificateDays is from how many days before its end a certificate is warned of.
const warnCertificateDays = 14

// Add adds a step; fix is what to do where it failed, else "".
func (l *ladder) add(name, state, text, fix string) {
	l.steps = append(l.steps, verdict.Rung{Name: name, State: state, Text: text, Fix: fix})
}

// slowStart is the time until a server is ready from which clients may give up: hosts give it 10 to 60 s.
const slowStart = 5 * time.Second

// AddReady adds a step that did not fail, with a warning if the server took long until it was ready.
func (l *ladder) addReady(name, text string, ready time.Duration) {
	if ready < slowStart {
		l.add(name, verdict.OK, text, "")
		return
	}
	l.add(name, verdict.Warning, fmt.Sprintf("%s, ready after %.1f s", text, ready.Seconds()),
		"answer initialize first, and load what takes long after it: clients give a server 10 to 60 s")
}

// Failed reports that a step failed, after which no other is reached.
func (l *ladder) hasFailed() bool {
	return slices.ContainsFunc(l.steps, func(r verdict.Rung) bool { return r.State == verdict.Failed })
}

// Has reports a step that was taken.
func (l *ladder) has(name string) bool {
	return slices.ContainsFunc(l.steps, func(r verdict.Rung) bool { return r.Name == name })
}

// Unreached adds the steps that a failed one kept from being taken.
func (l *ladder) addUnreached() {
	if !l.hasFailed() {
		return
	}
	names := stdioSteps
	if l.has("http") || l.has("dns") {
		names = httpSteps
	}
	for _, name := range names {
		if !l.has(name) {
			l.add(name, verdict.NotReached, "", "")
		}
	}
}

// FailedAt is the step at which opening a conversation failed.
func failedStep(o wire.Outcome, overHTTP, connected bool) string {
	switch {
	case !overHTTP && (o.Process != nil || o.Kind == wire.Transport && o.Reached == wire.Unsent):
		return "process"
	case !overHTTP:
		return "revision"
	case o.Phase == "dns" || o.Phase == "tls":
		return o.Phase
	case o.Kind == wire.Auth:
		return "auth"
	case !connected && (o.Kind == wire.Transport || o.Kind == wire.Timeout) && o.HTTP == nil:
		return "tcp"
	case o.Kind == wire.Transport || o.Kind == wire.Timeout:
		return "http"
	}
	return "revision"
}

// Certificate says for how long the certificate holds.
func certificateStep(state *tls.ConnectionState, now time.Time) (string, string, string) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return verdict.Skipped, "", ""
	}
	end := slices.MinFunc(state.PeerCertificates,
		func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	days := int(end.Sub(now).Hours() / 24)
	text := fmt.Sprintf("%s, the certificate expires in %s (%s)", tls.VersionName(state.Version),
		english.Plural(days, "day"), end.Format(time.DateOnly))
	if days < warnCertificateDays {
		return verdict.Warning, text, "renew the certificate"
	}
	return verdict.OK, text, ""
}

// Schemas adds the step of the tools' schemas.
func (l *ladder) addSchemas(tools []json.RawMessage) {
	var bad []string
	n := 0
	for _, tool := range tools {
		for _, member := range []string{"inputSchema", "outputSchema"} {
			schema := jsonraw.First(tool, member)
			if schema == nil {
				continue
			}
			n++
			if _, _, err := validate.Compile(schema); err != nil {
				name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
				bad = append(bad, member+" of "+name)
			}
		}
	}
	switch {
	case len(bad) > 0:
		l.add("schemas", verdict.Warning,
			fmt.Sprintf("%d of %d cannot be used: %s", len(bad), n, strings.Join(bad[:min(3, len(bad))], ", ")),
			"the findings say why")
	case n == 0:
		l.add("schemas", verdict.Skipped, "there are none", "")
	default:
		l.add("schemas", verdict.OK, fmt.Sprintf("%d can be used", n), "")
	}
}
