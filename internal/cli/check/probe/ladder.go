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

// A ladder lists the steps of a connection to a server that were reached.
type ladder struct{ steps []verdict.Rung }

// The names of all steps, in order.
var (
	httpSteps  = []string{"dns", "tcp", "tls", "http", "revision", "auth", "lists", "schemas"}
	stdioSteps = []string{"process", "revision", "lists", "schemas"}
)

// warnCertificateDays is the number of days before a certificate's expiry when warnings begin.
const warnCertificateDays = 14

// add adds a step; fix is the remedy if it failed, else "".
func (l *ladder) add(name, state, text, fix string) {
	l.steps = append(l.steps, verdict.Rung{Name: name, State: state, Text: text, Fix: fix})
}

// slowStart is the minimum time to start that gives a server a warning: hosts give a server 10 to
// 60 s.
const slowStart = 5 * time.Second

// addReady adds a step that did not fail, with a warning if the server took long to be ready.
func (l *ladder) addReady(name, text string, ready time.Duration) {
	if ready < slowStart {
		l.add(name, verdict.OK, text, "")
		return
	}
	l.add(name, verdict.Warning, fmt.Sprintf("%s, ready after %.1f s", text, ready.Seconds()),
		"respond to initialize first, and load the slow parts afterwards: clients give a server 10 to 60 s")
}

// hasFailed reports whether a step failed. No other step is reached after it.
func (l *ladder) hasFailed() bool {
	return slices.ContainsFunc(l.steps, func(r verdict.Rung) bool { return r.State == verdict.Failed })
}

// hasStep reports whether the step of this name was added.
func (l *ladder) hasStep(name string) bool {
	return slices.ContainsFunc(l.steps, func(r verdict.Rung) bool { return r.Name == name })
}

// addUnreached adds the steps that were not reached because one failed.
func (l *ladder) addUnreached() {
	if !l.hasFailed() {
		return
	}
	names := stdioSteps
	if l.hasStep("http") || l.hasStep("dns") {
		names = httpSteps
	}
	for _, name := range names {
		if !l.hasStep(name) {
			l.add(name, verdict.NotReached, "", "")
		}
	}
}

// failedStep returns the name of the step at which opening a session failed. connected reports that
// a TCP connection was open.
func failedStep(out wire.Outcome, overHTTP, connected bool) string {
	if !overHTTP {
		couldNotStart := out.Kind == wire.Transport && out.Reached == wire.Unsent
		if out.Process != nil || couldNotStart {
			return "process"
		}
		return "revision"
	}
	isTransport := out.Kind == wire.Transport || out.Kind == wire.Timeout
	switch {
	case out.Phase == "dns" || out.Phase == "tls":
		return out.Phase
	case out.Kind == wire.Auth:
		return "auth"
	case isTransport && !connected && out.HTTP == nil:
		return "tcp"
	case isTransport:
		return "http"
	default:
		return "revision"
	}
}

// certificateStep returns the state, text and fix of the step tls: when the certificate expires.
func certificateStep(conn *tls.ConnectionState, now time.Time) (state, text, fix string) {
	if conn == nil || len(conn.PeerCertificates) == 0 {
		return verdict.Skipped, "", ""
	}
	byExpiry := func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }
	first := slices.MinFunc(conn.PeerCertificates, byExpiry) // the first of the chain to expire
	days := int(first.NotAfter.Sub(now).Hours() / 24)
	text = fmt.Sprintf("%s, the certificate expires in %s (%s)", tls.VersionName(conn.Version),
		english.Plural(days, "day"), first.NotAfter.Format(time.DateOnly))
	if days < warnCertificateDays {
		return verdict.Warning, text, "renew the certificate"
	}
	return verdict.OK, text, ""
}

// addSchemas adds the step schemas: how many schemas of the tools can be compiled.
func (l *ladder) addSchemas(tools []json.RawMessage) {
	var unusable []string
	count := 0
	for _, tool := range tools {
		for _, member := range []string{"inputSchema", "outputSchema"} {
			schema := jsonraw.First(tool, member)
			if schema == nil {
				continue
			}
			count++
			if _, _, err := validate.Compile(schema); err != nil {
				name, _ := jsonraw.Text(jsonraw.First(tool, "name"))
				unusable = append(unusable, member+" of "+name)
			}
		}
	}
	const maxNamed = 3
	if len(unusable) > 0 {
		named := strings.Join(unusable[:min(maxNamed, len(unusable))], ", ")
		l.add("schemas", verdict.Warning,
			fmt.Sprintf("%d of %d cannot be used: %s", len(unusable), count, named), "the findings say why")
	} else if count == 0 {
		l.add("schemas", verdict.Skipped, "there are none", "")
	} else {
		l.add("schemas", verdict.OK, fmt.Sprintf("%d can be used", count), "")
	}
}
