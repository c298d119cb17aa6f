package probe

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// authRules are those that the metadata of a server and of its authorization server show.
var authRules = []string{"L197", "L198", "L199", "L200", "L201", "L202", "L203", "L204"}

// A walk is what a client without a token learns: the documents that were fetched, and the
// authorization server that they lead to.
type authDiscovery struct {
	challenge        auth.Challenge
	resource, server document
	tried            []string
	found            auth.Found
	err              *auth.Error
}

// A document is metadata, and where it was; raw is nil where there is none.
type document struct {
	url string
	raw json.RawMessage
}

// walked looks for the authorization server that the challenge leads to, once.
func (j *judge) discoverAuth(ctx context.Context, endpoint string) *authDiscovery {
	if j.authDiscovery != nil {
		return j.authDiscovery
	}
	w := &authDiscovery{}
	j.authDiscovery = w
	w.challenge, _ = auth.Wanted(auth.ParseChallenges(j.pacer.facts().Challenge.Values("Www-Authenticate")))
	flow := connect.NewAuthFlow(ctx, &j.f.Env, endpoint)
	defer flow.Net.Close()
	report := flow.OnStep
	flow.OnStep = func(s auth.Step) {
		if report != nil {
			report(s)
		}
		switch {
		case s.Document != nil && strings.Contains(s.URL, "oauth-protected-resource"):
			w.resource = document{s.URL, s.Document}
		case s.Document != nil:
			w.server = document{s.URL, s.Document}
		case s.URL != "":
			w.tried = append(w.tried, connect.StepLine(s))
		}
	}
	var err error
	w.found, err = flow.Discover(ctx,
		auth.Request{Endpoint: endpoint, Challenge: w.challenge, Challenged: true}, auth.Records{})
	if failed, ok := errors.AsType[*auth.Error](err); ok {
		w.err = failed
	} else if err != nil {
		w.err = &auth.Error{Text: err.Error()}
	}
	return w
}

// misses judges what a walk found.
func (w *authDiscovery) misses(endpoint string, at conv.Spot) (misses []miss) {
	add := func(rule, subject, got, want string, severity conv.Severity) {
		misses = append(misses,
			miss{id: rule, subject: subject, got: strings.TrimSpace(got), want: want, severity: severity, at: at})
	}
	if w.resource.raw == nil {
		tried := sliceutil.Map(w.tried[:min(3, len(w.tried))], strings.TrimSpace)
		add("L197", "the protected resource metadata", strings.Join(tried, "; "), "a JSON document", "")
	} else {
		m, _ := jsonraw.Object(w.resource.raw)
		resource := m.Text("resource")
		if !auth.Covers(resource, endpoint) || len(stringsIn(w.resource.raw, "authorization_servers")) == 0 {
			add("L197", w.resource.url, jsonraw.Excerpt(w.resource.raw, 150),
				"resource for "+endpoint+" and authorization_servers", "")
		}
		if strings.TrimSuffix(resource, "/") != strings.TrimSuffix(endpoint, "/") {
			add("L198", w.resource.url, resource, endpoint, "")
		}
		if slices.Contains(append(stringsIn(w.resource.raw, "scopes_supported"), w.challenge.Scopes()...), "offline_access") {
			add("L199", w.resource.url, "offline_access", "other scopes", "")
		}
	}
	if failed := w.err; failed != nil &&
		slices.Contains([]auth.Rule{auth.ServerUnreachable, auth.ServerInvalid, auth.IssuerMismatch}, failed.Rule) {
		add("L200", "the authorization server's metadata", failed.Text, "a JSON document with the issuer that was asked", "")
	}
	if w.server.raw == nil {
		return misses
	}
	return append(misses, w.serverMisses(at)...)
}

// serverMisses judges the metadata of the authorization server.
func (w *authDiscovery) serverMisses(at conv.Spot) (misses []miss) {
	add := func(rule, got, want string, severity conv.Severity) {
		misses = append(misses, miss{id: rule, subject: w.server.url, got: got, want: want, severity: severity, at: at})
	}
	m, _ := jsonraw.Object(w.server.raw)
	if methods := stringsIn(w.server.raw, "code_challenge_methods_supported"); !slices.Contains(methods, "S256") {
		add("L201", "code_challenge_methods_supported: "+commaJoin(methods...), "S256", "")
	}
	for _, member := range m {
		text, _ := jsonraw.Text(member.Value)
		if u, err := url.Parse(text); strings.HasSuffix(member.Name, "_endpoint") &&
			(err != nil || u.Scheme != "https" && !auth.IsLocal(text)) {
			add("L202", member.Name+": "+text, "https", "")
		}
	}
	if string(m.Value("authorization_response_iss_parameter_supported")) != "true" {
		const name = "authorization_response_iss_parameter_supported"
		add("L203", name+": "+conv.Show(m.Value(name)), "true", "")
	}
	documents := string(m.Value("client_id_metadata_document_supported")) == "true"
	switch registers := m.Text("registration_endpoint") != ""; {
	case !documents && registers:
		add("L204", "a registration_endpoint only", "client_id_metadata_document_supported", conv.Info)
	case !documents:
		add("L204", "neither client_id_metadata_document_supported nor registration_endpoint", "one of them", "")
	}
	return misses
}

// judgeAuth judges the rules about metadata by a walk, for a server that asked for
// authorization; rev is the revision that is judged.
func (j *judge) judgeAuth(ctx context.Context, s *session, rev conv.Rev) {
	if !j.pacer.facts().Unauthorized {
		return
	}
	endpoint := s.opt.Server.URL
	at := j.lastSpot(s)
	misses := j.discoverAuth(ctx, endpoint).misses(endpoint, at)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, id := range authRules {
		r, _ := lint.Find(id)
		isOfRule := func(m miss) bool { return m.id == id }
		later := slices.Contains([]string{"L201", "L202", "L203", "L204"}, id)
		switch {
		case slices.Contains(j.o.Off, id):
		case rev < r.From || rev > r.To:
			j.linter.Exempt(id, "holds for "+r.Range)
		case id == "L200" && j.authDiscovery.server.raw == nil && len(misses) > 0 && !slices.ContainsFunc(misses, isOfRule),
			later && j.authDiscovery.server.raw == nil:
			j.linter.Skip(id, "the metadata of the authorization server was not found")
		default:
			var findings []lint.Finding
			for _, m := range misses {
				if m.id == id {
					findings = append(findings, newFinding(m, rev))
				}
			}
			j.linter.Add(id, findings...)
		}
	}
}

// withoutToken sends a request without a token, so that the server asks for one.
func withoutToken(ctx context.Context, b *bench) {
	if b.pacer.facts().Unauthorized || !b.isHTTP() || b.whyNoMore() != "" {
		return
	}
	s := *b.clean
	s.opt.Fields = append(slices.Clone(s.opt.Fields), wire.Field{Name: "Authorization"})
	other, out := b.openLike(ctx, &s, false)
	if out.Good() {
		other.Do(ctx, client.Call{Method: client.PingMethod(b.clean.Revision()), Once: true})
		other.Close(context.WithoutCancel(ctx), true)
	}
}
