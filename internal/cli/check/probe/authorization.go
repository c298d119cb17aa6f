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
)

// authRules are the rules that the metadata of a server and of its authorization server show.
var authRules = []string{"L197", "L198", "L199", "L200", "L201", "L202", "L203", "L204"}

// serverRules are the rules that only the metadata of the authorization server shows.
var serverRules = []string{"L201", "L202", "L203", "L204"}

// authDiscovery is what a client without a token learns: the documents that it fetched, and the
// authorization server that they name.
type authDiscovery struct {
	challenge auth.Challenge
	// resource has the metadata of the protected resource, server the metadata of its authorization
	// server.
	resource, server metadataDocument
	// tried describes the requests that found no document.
	tried []string
	found auth.Found
	// err is nil if the discovery succeeded.
	err *auth.Error
}

// A metadataDocument is metadata with its URL; raw is nil if it was not found.
type metadataDocument struct {
	url string
	raw json.RawMessage
}

// discoverAuth looks for the authorization server that the challenge of the server names. It does
// so once.
func (j *judge) discoverAuth(ctx context.Context, endpoint string) *authDiscovery {
	if j.authDiscovery != nil {
		return j.authDiscovery
	}
	d := &authDiscovery{}
	j.authDiscovery = d
	d.challenge, _ = auth.SelectChallenge(auth.ParseChallenges(j.pacer.facts().Challenge.Values("Www-Authenticate")))
	flow := connect.NewAuthFlow(ctx, &j.f.Env, endpoint)
	defer flow.Net.Close()
	showStep := flow.OnStep
	flow.OnStep = func(s auth.Step) {
		if showStep != nil {
			showStep(s)
		}
		switch { // the well-known path distinguishes the two documents
		case s.Document != nil && strings.Contains(s.URL, "oauth-protected-resource"):
			d.resource = metadataDocument{s.URL, s.Document}
		case s.Document != nil:
			d.server = metadataDocument{s.URL, s.Document}
		case s.URL != "":
			d.tried = append(d.tried, connect.StepLine(s))
		}
	}
	var err error
	d.found, err = flow.Discover(ctx,
		auth.Request{Endpoint: endpoint, Challenge: d.challenge, Challenged: true}, auth.Records{})
	if failed, ok := errors.AsType[*auth.Error](err); ok {
		d.err = failed
	} else if err != nil {
		d.err = &auth.Error{Text: err.Error()}
	}
	return d
}

// misses returns the rules that the metadata breaks; spot is the evidence for all of them.
func (d *authDiscovery) misses(endpoint string, spot conv.Spot) []miss {
	misses := d.resourceMisses(endpoint, spot)
	invalidServer := []auth.Rule{auth.ServerUnreachable, auth.ServerInvalid, auth.IssuerMismatch}
	if d.err != nil && slices.Contains(invalidServer, d.err.Rule) {
		misses = append(misses, miss{
			id: "L200", subject: "the authorization server's metadata", got: strings.TrimSpace(d.err.Text),
			want: "a JSON document with the issuer for which it was requested", spot: spot,
		})
	}
	if d.server.raw != nil {
		misses = append(misses, d.serverMisses(spot)...)
	}
	return misses
}

// maxTried is the number of failed requests that a finding names.
const maxTried = 3

// resourceMisses returns the rules that the metadata of the protected resource breaks.
func (d *authDiscovery) resourceMisses(endpoint string, spot conv.Spot) []miss {
	var misses []miss
	add := func(rule, subject, got, want string) {
		misses = append(misses, miss{id: rule, subject: subject, got: strings.TrimSpace(got), want: want, spot: spot})
	}
	if d.resource.raw == nil {
		tried := sliceutil.Map(d.tried[:min(maxTried, len(d.tried))], strings.TrimSpace)
		add("L197", "the protected resource metadata", strings.Join(tried, "; "), "a JSON document")
		return misses
	}
	members, _ := jsonraw.Object(d.resource.raw)
	resource := members.Text("resource")
	hasServers := len(stringsIn(d.resource.raw, "authorization_servers")) > 0
	if !auth.Covers(resource, endpoint) || !hasServers {
		add("L197", d.resource.url, jsonraw.Excerpt(d.resource.raw, 150),
			"resource for "+endpoint+" and authorization_servers")
	}
	if strings.TrimSuffix(resource, "/") != strings.TrimSuffix(endpoint, "/") {
		add("L198", d.resource.url, resource, endpoint)
	}
	scopes := append(stringsIn(d.resource.raw, "scopes_supported"), d.challenge.Scopes()...)
	if slices.Contains(scopes, "offline_access") {
		add("L199", d.resource.url, "offline_access", "other scopes")
	}
	return misses
}

// serverMisses returns the rules that the metadata of the authorization server breaks.
func (d *authDiscovery) serverMisses(spot conv.Spot) []miss {
	var misses []miss
	add := func(rule, got, want string) {
		misses = append(misses, miss{id: rule, subject: d.server.url, got: got, want: want, spot: spot})
	}
	metadata, _ := jsonraw.Object(d.server.raw)
	if methods := stringsIn(d.server.raw, "code_challenge_methods_supported"); !slices.Contains(methods, "S256") {
		add("L201", "code_challenge_methods_supported: "+commaJoin(methods...), "S256")
	}
	for _, member := range metadata {
		if !strings.HasSuffix(member.Name, "_endpoint") {
			continue
		}
		text, _ := jsonraw.Text(member.Value)
		u, err := url.Parse(text)
		isSafe := err == nil && (u.Scheme == "https" || auth.IsLocal(text))
		if !isSafe {
			add("L202", member.Name+": "+text, "https")
		}
	}
	const issuerParameter = "authorization_response_iss_parameter_supported"
	if value := metadata.Value(issuerParameter); string(value) != "true" {
		add("L203", issuerParameter+": "+conv.Show(value), "true")
	}
	acceptsDocuments := string(metadata.Value("client_id_metadata_document_supported")) == "true"
	canRegister := metadata.Text("registration_endpoint") != ""
	if !acceptsDocuments && canRegister {
		add("L204", "a registration_endpoint only", "client_id_metadata_document_supported")
		misses[len(misses)-1].severity = conv.Info
	} else if !acceptsDocuments {
		add("L204", "neither client_id_metadata_document_supported nor registration_endpoint", "one of them")
	}
	return misses
}

// judgeAuth judges the rules about metadata, if the server asked for authorization; rev is the
// revision to judge by.
func (j *judge) judgeAuth(ctx context.Context, s *session, rev conv.Rev) {
	if !j.pacer.facts().Unauthorized {
		return
	}
	endpoint := s.options.Server.URL
	misses := j.discoverAuth(ctx, endpoint).misses(endpoint, j.lastSpot(s))
	j.mu.Lock()
	defer j.mu.Unlock()
	hasServerMetadata := j.authDiscovery.server.raw != nil
	for _, id := range authRules {
		if slices.Contains(j.request.Off, id) {
			continue
		}
		r, _ := lint.Find(id)
		if rev < r.From || rev > r.To {
			j.linter.Exempt(id, "holds for "+r.Range)
			continue
		}
		var findings []lint.Finding
		for _, m := range misses {
			if m.id == id {
				findings = append(findings, newFinding(m, rev))
			}
		}
		needsMetadata := slices.Contains(serverRules, id)
		if id == "L200" { // without its own miss, L200 was not judged if other rules failed before it
			needsMetadata = len(misses) > 0 && len(findings) == 0
		}
		if needsMetadata && !hasServerMetadata {
			j.linter.Skip(id, "the metadata of the authorization server was not found")
			continue
		}
		j.linter.Add(id, findings...)
	}
}

// askWithoutToken sends a request without a token, so that the server asks for one.
func askWithoutToken(ctx context.Context, b *bench) {
	if b.pacer.facts().Unauthorized || !b.isHTTP() || b.whyNoMore() != "" {
		return
	}
	other, out := b.openLike(ctx, withoutToken(b.cleanSession))
	if out.OK() {
		other.Do(ctx, client.Call{Method: client.PingMethod(b.cleanSession.Revision()), Once: true})
		other.Close(context.WithoutCancel(ctx), endSession)
	}
}
