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

// fix is what the ending of a request says about what to do.
func (j *judge) fixFor(o wire.Outcome) string {
	if hint := failure.HintFor(j.f.ErrStyle, connect.Explain(&j.f.Env, o)); hint != "" {
		return j.f.HintText(hint)
	}
	return ""
}

// addConnection adds the steps as far as the revision.
func addConnectionSteps(j *judge, s *session, o wire.Outcome) {
	l := &j.ladder
	endpoint := s.opt.Server.URL
	facts := j.pacer.facts()
	at := ""
	if !o.Good() {
		at = failedStep(o, endpoint != "", facts.Address != "")
	}
	names := []string{"process", "revision"}
	if endpoint != "" {
		names = httpSteps[:5]
	}
	for _, name := range names {
		switch {
		case name == at:
			l.add(name, verdict.Failed, failure.Headline(o), j.fixFor(o))
			return
		case name == "revision" && at == "":
			l.add(name, verdict.OK, s.Revision()+": "+s.Why(), "")
		case name == "revision" || l.has(name):
		case name == "process":
			l.addReady(name, j.report.Target, s.ready)
		case name == "http":
			text := fmt.Sprintf("%s, %s", failure.HTTPStatus(facts.Status), facts.Proto)
			if facts.Status >= http.StatusBadRequest {
				text = "the server speaks HTTP: its first answer is " + text
			}
			l.addReady(name, text, s.ready)
		default:
			state, text, fix := httpStep(j, name, endpoint, facts)
			l.add(name, state, text, fix)
		}
	}
}

// httpRung is a step over HTTP that did not fail.
func httpStep(j *judge, name, endpoint string, facts connectionFacts) (state, text, fix string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return verdict.Skipped, "", ""
	}
	switch {
	case name == "dns" && j.usesHTTPProxy(endpoint):
		return verdict.Skipped, "a proxy resolves " + u.Hostname(), ""
	case name == "dns":
		return verdict.OK, u.Hostname(), ""
	case name == "tcp":
		return verdict.OK, facts.Address, ""
	case name == "tls" && u.Scheme != "https":
		if cmdutil.IsLocal(endpoint) {
			return verdict.Skipped, "http on this machine", ""
		}
		return verdict.Warning, "http: tokens and messages cross in plain text", "serve https"
	}
	return certificateStep(facts.TLS, j.f.Now())
}

// throughProxy reports a server that a proxy leads to.
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

// addAuthorization adds the step of that name: what a client without a token learns.
func addAuthStep(ctx context.Context, j *judge, s *session, o wire.Outcome) {
	l := &j.ladder
	guard := j.f.Guard
	facts := j.pacer.facts()
	if s.opt.Server.URL == "" || l.hasFailed() && !facts.Unauthorized || l.has("auth") && !facts.Unauthorized {
		return
	}
	l.steps = slices.DeleteFunc(l.steps, func(r verdict.Rung) bool { return r.Name == "auth" })
	if !facts.Unauthorized || guard == nil {
		text := "no authorization was requested"
		if guard != nil && (guard.Fixed != "" || len(guard.Held()) > 0) {
			text = "a token was sent and accepted"
		}
		l.add("auth", verdict.OK, text, "")
		return
	}
	w := j.discoverAuth(ctx, s.opt.Server.URL)
	switch {
	case w.err != nil:
		l.add("auth", verdict.Failed, "discovery failed: "+w.err.Text, j.f.HintText(w.err.Hint))
	case !o.Good():
		l.add("auth", verdict.Failed, failure.Headline(o)+"; the authorization server is "+w.found.Server.Issuer, j.fixFor(o))
	default:
		l.add("auth", verdict.OK, "the token was accepted; the authorization server is "+w.found.Server.Issuer, "")
	}
}
