package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// fixFor returns the hint of an outcome for a user.
func (j *judge) fixFor(out wire.Outcome) string {
	if hint := failure.HintFor(j.f.ErrStyle, connect.Explain(&j.f.Env, out)); hint != "" {
		return j.f.HintText(hint)
	}
	return ""
}

// addConnectionSteps adds the steps of a connection up to the revision, or up to the step that
// failed.
func addConnectionSteps(j *judge, s *session, opened wire.Outcome) {
	l := &j.ladder
	endpoint := s.options.Server.URL
	facts := j.pacer.facts()
	failed := ""
	if !opened.OK() {
		failed = failedStep(opened, endpoint != "", facts.Address != "")
	}
	names := stdioSteps
	if endpoint != "" {
		names = httpSteps
	}
	names = names[:slices.Index(names, "revision")+1] // addAuthStep and fetchLists add the others
	for _, name := range names {
		if name == failed {
			l.add(name, verdict.Failed, failure.Headline(opened), j.fixFor(opened))
			return
		}
		if name == "revision" {
			if failed == "" {
				l.add(name, verdict.OK, s.Revision()+": "+s.Why(), "")
			}
			continue
		}
		if l.hasStep(name) { // an earlier revision added it
			continue
		}
		switch name {
		case "process":
			l.addReady(name, j.report.Target, s.openTime)
		case "http":
			text := fmt.Sprintf("%s, %s", failure.HTTPStatus(facts.Status), facts.Proto)
			if facts.Status >= http.StatusBadRequest {
				text = "the server speaks HTTP: its first answer is " + text
			}
			l.addReady(name, text, s.openTime)
		default:
			state, text, fix := httpStep(j, name, endpoint, facts)
			l.add(name, state, text, fix)
		}
	}
}

// httpStep returns the state, text and fix of the step dns, tcp or tls, which did not fail.
func httpStep(j *judge, name, endpoint string, facts connectionFacts) (state, text, fix string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return verdict.Skipped, "", ""
	}
	switch name {
	case "dns":
		if j.usesHTTPProxy(endpoint) {
			return verdict.Skipped, "a proxy resolves " + u.Hostname(), ""
		}
		return verdict.OK, u.Hostname(), ""
	case "tcp":
		return verdict.OK, facts.Address, ""
	}
	if u.Scheme != "https" {
		if cmdutil.IsLocal(endpoint) {
			return verdict.Skipped, "http on this machine", ""
		}
		return verdict.Warning, "http: tokens and messages are sent in plain text", "serve https"
	}
	return certificateStep(facts.TLS, j.f.Now())
}

// usesHTTPProxy reports whether requests to the endpoint go through an HTTP proxy.
func (j *judge) usesHTTPProxy(endpoint string) bool {
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

// addAuthStep adds or replaces the step auth of an HTTP server: what a client without a token learns.
func addAuthStep(ctx context.Context, j *judge, s *session, opened wire.Outcome) {
	l := &j.ladder
	guard := j.f.Guard
	facts := j.pacer.facts()
	if s.options.Server.URL == "" {
		return
	}
	if !facts.Unauthorized && (l.hasFailed() || l.hasStep("auth")) {
		return // nothing new: the step was not reached, or an earlier revision added it
	}
	l.steps = slices.DeleteFunc(l.steps, func(r verdict.Rung) bool { return r.Name == "auth" })
	if !facts.Unauthorized || guard == nil {
		text := "no authorization was requested"
		if guard != nil && (guard.Fixed != "" || len(guard.HeaderFields()) > 0) {
			text = "a token was sent and accepted"
		}
		l.add("auth", verdict.OK, text, "")
		return
	}
	discovery := j.discoverAuth(ctx, s.options.Server.URL)
	if discovery.err != nil {
		l.add("auth", verdict.Failed, "discovery failed: "+discovery.err.Text, j.f.HintText(discovery.err.Hint))
		return
	}
	issuer := "; the authorization server is " + discovery.found.Server.Issuer
	if !opened.OK() {
		l.add("auth", verdict.Failed, failure.Headline(opened)+issuer, j.fixFor(opened))
		return
	}
	l.add("auth", verdict.OK, "the token was accepted"+issuer, "")
}
