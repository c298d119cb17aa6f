package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"mcpc/internal/cli/check/sending"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// A ladder has the steps of the way to a server as far as they were taken.
type ladder struct{ rungs []verdict.Rung }

// rungNames are the steps over HTTP and over stdio.
var (
	httpRungs  = []string{"dns", "tcp", "tls", "http", "revision", "auth", "lists", "schemas"}
	stdioRungs = []string{"process", "revision", "lists", "schemas"}
)

// certificateDays is from how many days before its end a certificate is warned of.
const certificateDays = 14

func (l *ladder) add(name, state, text, fix string) {
	l.rungs = append(l.rungs, verdict.Rung{Name: name, State: state, Text: text, Fix: fix})
}

// failed reports that a step failed, after which no other is reached.
func (l *ladder) failed() bool {
	return slices.ContainsFunc(l.rungs, func(r verdict.Rung) bool { return r.State == verdict.Failed })
}

// has reports a step that was taken.
func (l *ladder) has(name string) bool {
	return slices.ContainsFunc(l.rungs, func(r verdict.Rung) bool { return r.Name == name })
}

// unreached adds the steps that a failed one kept from being taken.
func (l *ladder) unreached() {
	if !l.failed() {
		return
	}
	names := stdioRungs
	if l.has("http") || l.has("dns") {
		names = httpRungs
	}
	for _, name := range names {
		if !l.has(name) {
			l.add(name, verdict.NotReached, "", "")
		}
	}
}

// fix is what the ending of a request says about what to do.
func (j *judge) fix(o wire.Outcome) string {
	if hint := failure.HintFor(j.f.ErrStyle, connect.Explain(&j.f.Env, o)); hint != "" {
		return j.f.HintText(hint)
	}
	return ""
}

// failedAt is the step at which opening a conversation failed.
func failedAt(o wire.Outcome, overHTTP, connected bool) string {
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

// connection adds the steps as far as the revision.
func (l *ladder) connection(j *judge, s *session, o wire.Outcome) {
	endpoint := s.opt.Server.URL
	facts := j.polite.Facts()
	at := ""
	if !o.Good() {
		at = failedAt(o, endpoint != "", facts.Address != "")
	}
	names := []string{"process", "revision"}
	if endpoint != "" {
		names = httpRungs[:5]
	}
	for _, name := range names {
		switch {
		case name == at:
			l.add(name, verdict.Failed, failure.Headline(o), j.fix(o))
			return
		case name == "revision" && at == "":
			l.add(name, verdict.OK, s.Revision()+": "+s.Why(), "")
		case name == "revision" || l.has(name):
		case name == "process":
			l.add(name, verdict.OK, j.report.Target, "")
		default:
			state, text, fix := httpRung(j, name, endpoint, facts)
			l.add(name, state, text, fix)
		}
	}
}

// httpRung is a step over HTTP that did not fail.
func httpRung(j *judge, name, endpoint string, facts sending.Facts) (state, text, fix string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return verdict.Skipped, "", ""
	}
	switch {
	case name == "dns" && j.throughProxy(endpoint):
		return verdict.Skipped, "a proxy resolves " + u.Hostname(), ""
	case name == "dns":
		return verdict.OK, u.Hostname(), ""
	case name == "tcp":
		return verdict.OK, facts.Address, ""
	case name == "tls" && u.Scheme != "https":
		if sending.IsLocal(endpoint) {
			return verdict.Skipped, "http on this machine", ""
		}
		return verdict.Warning, "http: tokens and messages cross in plain text", "serve https"
	case name == "tls":
		return tlsRung(facts.TLS, j.f.Now())
	}
	return verdict.OK, fmt.Sprintf("%s, %s", failure.HTTPStatus(facts.Status), facts.Proto), ""
}

// throughProxy reports a server that a proxy leads to.
func (j *judge) throughProxy(endpoint string) bool {
	route := j.f.Route
	if route == nil || route.ProxyFunc == nil {
		return false
	}
	req, err := http.NewRequest(http.MethodGet, endpoint, nil)
	if err != nil {
		return false
	}
	proxy, err := route.ProxyFunc(req)
	return err == nil && proxy != nil
}

// tlsRung says for how long the certificate holds.
func tlsRung(state *tls.ConnectionState, now time.Time) (string, string, string) {
	if state == nil || len(state.PeerCertificates) == 0 {
		return verdict.Skipped, "", ""
	}
	end := slices.MinFunc(state.PeerCertificates, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
	days := int(end.Sub(now).Hours() / 24)
	text := fmt.Sprintf("%s, the certificate expires in %s (%s)", tls.VersionName(state.Version), english.Plural(days, "day"), end.Format(time.DateOnly))
	if days < certificateDays {
		return verdict.Warning, text, "renew the certificate"
	}
	return verdict.OK, text, ""
}

// authorization adds the step of that name: what a client without a token learns.
func (l *ladder) authorization(ctx context.Context, j *judge, s *session, o wire.Outcome) {
	guard, facts := j.f.Guard, j.polite.Facts()
	if s.opt.Server.URL == "" || l.failed() && !facts.Asked || l.has("auth") && !facts.Asked {
		return
	}
	l.rungs = slices.DeleteFunc(l.rungs, func(r verdict.Rung) bool { return r.Name == "auth" })
	if !facts.Asked || guard == nil {
		text := "no authorization was requested"
		if guard != nil && (guard.Fixed != "" || len(guard.Held()) > 0) {
			text = "a token was sent and accepted"
		}
		l.add("auth", verdict.OK, text, "")
		return
	}
	w := j.walked(ctx, s.opt.Server.URL)
	switch {
	case w.err != nil:
		l.add("auth", verdict.Failed, "discovery failed: "+w.err.Text, j.f.HintText(w.err.Hint))
	case !o.Good():
		l.add("auth", verdict.Failed, failure.Headline(o)+"; the authorization server is "+w.found.Server.Issuer, j.fix(o))
	default:
		l.add("auth", verdict.OK, "the token was accepted; the authorization server is "+w.found.Server.Issuer, "")
	}
}
