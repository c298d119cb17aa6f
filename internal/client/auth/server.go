package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A Server is the checked metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
type Server struct {
	Issuer        string     `json:"issuer"`
	Authorization string     `json:"authorization_endpoint"`
	Token         string     `json:"token_endpoint"`
	Registration  string     `json:"registration_endpoint"`
	Device        string     `json:"device_authorization_endpoint"`
	Revocation    string     `json:"revocation_endpoint"`
	Scopes        stringList `json:"scopes_supported"`
	Challenges    stringList `json:"code_challenge_methods_supported"`
	Methods       stringList `json:"token_endpoint_auth_methods_supported"`
	Proofs        stringList `json:"dpop_signing_alg_values_supported"`
	Documents     looseBool  `json:"client_id_metadata_document_supported"`
	NamesItself   looseBool  `json:"authorization_response_iss_parameter_supported"`
	// Assumed is set for a server without metadata, whose endpoints are the defaults.
	Assumed bool `json:"-"`
}

// findServer fetches an authorization server's metadata from the well-known URLs of its issuer, in
// order, and returns the first valid document. If no document is valid, it returns the error of the
// last invalid one.
func (flow *Flow) findServer(ctx context.Context, issuer string, n needs) (*Server, error) {
	places, err := serverURLs(issuer)
	if err != nil {
		return nil, err
	}
	var lastErr error
	for _, where := range places {
		raw, status, err := flow.fetchDocument(ctx, where, nil)
		if err != nil { // metadata of another place must not count because this one fails for a moment
			return nil, err
		}
		if status != http.StatusOK {
			continue
		}
		s, err := readServer(flow, raw, issuer, n)
		if err == nil {
			return s, nil
		}
		lastErr = err
	}
	if lastErr == nil {
		lastErr = &Error{Rule: ServerUnreachable, Text: "the authorization server has no metadata: " + issuer}
	}
	return nil, lastErr
}

// serverURLs returns the possible URLs of an issuer's metadata (authorization, "Authorization Server
// Metadata Discovery"). If the issuer has a path, the root's metadata is of another issuer.
func serverURLs(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{Rule: ServerInvalid, Text: "not an issuer: " + issuer, Err: err}
	}
	urlOf := func(path string) string {
		wellKnown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}
		return wellKnown.String()
	}
	const oauth = "/.well-known/oauth-authorization-server"
	const openID = "/.well-known/openid-configuration"
	path := strings.TrimSuffix(u.Path, "/")
	if path == "" {
		return []string{urlOf(oauth), urlOf(openID)}, nil
	}
	return []string{urlOf(oauth + path), urlOf(openID + path), urlOf(path + openID)}, nil
}

// readServer parses and checks the metadata of an issuer: its form, that it names this issuer, the
// endpoints that the grant needs and, for a login with a browser, PKCE.
func readServer(flow *Flow, raw []byte, issuer string, n needs) (*Server, error) {
	var s Server
	m, err := readMetadata(raw, &s, "authorization server metadata", ServerInvalid)
	rule := "authorization server metadata is a JSON object (RFC 8414 section 3.2)"
	if err := flow.check(rule, err == nil, err); err != nil {
		return nil, err
	}
	if err := m.checkLists(flow, "RFC 8414 section 2", "scopes_supported", "code_challenge_methods_supported",
		"token_endpoint_auth_methods_supported", "dpop_signing_alg_values_supported"); err != nil {
		return nil, err
	}
	hint := "they must be identical, including a trailing slash; contact the server's operator"
	if differBySlash(s.Issuer, issuer) {
		hint = "if you trust the server, pass the first issuer with --issuer"
		// Users run the command of a hint, so the URL from the server must need no quotes.
		if u, err := SafeURL(s.Issuer); err == nil && u.String() == s.Issuer && shellwords.Quote(s.Issuer) == s.Issuer {
			hint = "if you trust the server: --issuer " + s.Issuer
		}
	}
	text := fmt.Sprintf("the authorization server metadata has another issuer: %q, not %q", s.Issuer, issuer)
	if err := flow.check(`"issuer" is identical to the one asked for (RFC 8414 section 3.3)`, s.Issuer == issuer,
		&Error{Rule: IssuerMismatch, Text: text, Hint: wire.Hint(hint)}); err != nil {
		return nil, err
	}
	if err := checkEndpoints(flow, &s, n.grant); err != nil {
		return nil, err
	}
	if !n.grant.UsesBrowser() {
		return &s, nil
	}
	return &s, checkPKCE(flow, &s, n)
}

// checkPKCE returns an error if the server does not declare PKCE with S256. A server that declares
// nothing may still check it, so the user can assume that; a server that declares only another method
// does not.
func checkPKCE(flow *Flow, s *Server, n needs) error {
	hint := "a token in MCPC_TOKEN needs no PKCE"
	if s.Device != "" {
		hint = "--grant device and a token in MCPC_TOKEN need no PKCE"
	}
	if len(s.Challenges) == 0 {
		if n.assumesPKCE(s.Issuer) {
			flow.report(Step{Text: "PKCE with S256 is not declared, and used all the same (--assume-pkce)"})
			return nil
		}
		hint = "if you trust the server, --assume-pkce logs in all the same, with S256; " + hint
	}
	rule := `"code_challenge_methods_supported" has S256 ` +
		`(specification, page authorization, "Authorization Code Protection")`
	return flow.check(rule, slices.Contains(s.Challenges, "S256"), &Error{
		Rule: NoPKCE, Hint: wire.Hint(hint),
		Text: "the authorization server does not declare PKCE with S256, so a code could be stolen",
	})
}

// A namedEndpoint is an endpoint with its name in the metadata.
type namedEndpoint struct{ name, url string }

// checkEndpoints returns an error if an endpoint that a grant needs is missing, or if the URL of a
// needed endpoint or of the registration endpoint cannot be used.
func checkEndpoints(flow *Flow, s *Server, g Grant) error {
	needed := []namedEndpoint{{"token_endpoint", s.Token}}
	if g.UsesBrowser() {
		needed = append(needed, namedEndpoint{"authorization_endpoint", s.Authorization})
	}
	if g == DeviceCode {
		needed = append(needed, namedEndpoint{"device_authorization_endpoint", s.Device})
	}
	for _, e := range needed {
		if err := flow.check("\""+e.name+"\" is present (RFC 8414 section 2)", e.url != "",
			&Error{Rule: ServerInvalid, Text: "the authorization server's metadata has no " + e.name}); err != nil {
			return err
		}
	}
	for _, e := range append(needed, namedEndpoint{"registration_endpoint", s.Registration}) {
		if e.url == "" {
			continue
		}
		_, err := SafeURL(e.url)
		broken, _ := err.(*Error) // nil if err is nil
		if broken != nil {
			broken.Text = fmt.Sprintf("the authorization server's %q cannot be used: %s", e.name, broken.Text)
		}
		rule := fmt.Sprintf("%q is https, or http on this machine "+
			`(specification, page authorization, "Communication Security")`, e.name)
		if err := flow.check(rule, err == nil, broken); err != nil {
			return err
		}
		if err := checkEndpointURL(flow, e); err != nil {
			return err
		}
	}
	return nil
}

// ownParameters are the parameters of an authorization request that only the client may set, and the
// parameters that could replace them (RFC 6749, section 4.1.1; RFC 7636; RFC 8707; RFC 9101).
var ownParameters = append([]string{
	"response_type", "client_id", "redirect_uri", "state", "code_challenge",
	"code_challenge_method", "response_mode", "request", "request_uri",
}, replacedParameters...)

// replacedParameters are the parameters that an endpoint's URL may contain: the client's value
// replaces them.
var replacedParameters = []string{"scope", "resource"}

// checkEndpointURL checks that an endpoint's URL has no fragment and that the authorization
// endpoint's query has no parameter that the client sets.
func checkEndpointURL(flow *Flow, e namedEndpoint) error {
	u, err := url.Parse(e.url)
	if err != nil {
		return err
	}
	rule := fmt.Sprintf("%q has no fragment (RFC 6749 sections 3.1 and 3.2)", e.name)
	err = flow.check(rule, !strings.Contains(e.url, "#"), &Error{
		Rule: ServerInvalid,
		Text: fmt.Sprintf("the authorization server's %s has a fragment: %q", e.name, e.url),
	})
	if err != nil || e.name != "authorization_endpoint" {
		return err
	}
	query := u.Query()
	own := slices.DeleteFunc(slices.Clone(ownParameters), func(name string) bool {
		return !query.Has(name) || slices.Contains(replacedParameters, name)
	})
	rule = `"authorization_endpoint" contains no parameter that the client must set (RFC 6749 section 3.1)`
	return flow.check(rule, len(own) == 0, &Error{
		Rule: ServerInvalid,
		Text: fmt.Sprintf("the authorization_endpoint sets the client's own parameters (%s): %q",
			strings.Join(own, ", "), e.url),
	})
}
