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

// A Server is the checked metadata of an authorization server (RFC 8414, OpenID
// Connect Discovery).
type Server struct {
	Issuer        string `json:"issuer"`
	Authorization string `json:"authorization_endpoint"`
	Token         string `json:"token_endpoint"`
	Registration  string `json:"registration_endpoint"`
	Device        string `json:"device_authorization_endpoint"`
	Revocation    string `json:"revocation_endpoint"`
	Scopes        words  `json:"scopes_supported"`
	Challenges    words  `json:"code_challenge_methods_supported"`
	Methods       words  `json:"token_endpoint_auth_methods_supported"`
	Proofs        words  `json:"dpop_signing_alg_values_supported"`
	Documents     flag   `json:"client_id_metadata_document_supported"`
	NamesItself   flag   `json:"authorization_response_iss_parameter_supported"`
	// Assumed is set for a server without metadata, at which the default endpoints are tried.
	Assumed bool `json:"-"`
}

// server finds an authorization server's metadata at the well-known places of its
// issuer, in their order, and takes the first document that holds.
func (w *Flow) server(ctx context.Context, issuer string, n needs) (*Server, error) {
	places, err := serverURLs(issuer)
	if err != nil {
		return nil, err
	}
	var last error
	for _, where := range places {
		raw, status, err := w.document(ctx, where, nil)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			continue
		}
		s, err := readServer(w, raw, issuer, n)
		if err == nil {
			return s, nil
		}
		last = err
	}
	if last == nil {
		last = &Error{Rule: ServerUnreachable, Text: "the authorization server has no metadata: " + issuer}
	}
	return nil, last
}

// serverURLs are where the metadata of an issuer may be (authorization,
// "Authorization Server Metadata Discovery"). For one with a path the root is
// another issuer's.
func serverURLs(issuer string) ([]string, error) {
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{Rule: ServerInvalid, Text: "not an issuer: " + issuer, Err: err}
	}
	at := func(path string) string {
		there := url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}
		return there.String()
	}
	const oauth, openID = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	path := strings.TrimSuffix(u.Path, "/")
	if path == "" {
		return []string{at(oauth), at(openID)}, nil
	}
	return []string{at(oauth + path), at(openID + path), at(path + openID)}, nil
}

// readServer checks metadata that was fetched for an issuer.
func readServer(w *Flow, raw []byte, issuer string, n needs) (*Server, error) {
	var s Server
	m, err := readMetadata(raw, &s, "authorization server metadata", ServerInvalid)
	isObject := "authorization server metadata is a JSON object (RFC 8414 section 3.2)"
	if err := w.holds(isObject, err == nil, err); err != nil {
		return nil, err
	}
	if err := m.checkLists(w, "RFC 8414 section 2", "scopes_supported", "code_challenge_methods_supported",
		"token_endpoint_auth_methods_supported", "dpop_signing_alg_values_supported"); err != nil {
		return nil, err
	}
	hint := "they must be identical, including a trailing slash; contact the server's operator"
	if nearly(s.Issuer, issuer) {
		hint = "if you trust the server, pass the first issuer with --issuer"
		// Users run the command of a hint: it holds nothing of a server's but a plain URL.
		if u, err := SafeURL(s.Issuer); err == nil && u.String() == s.Issuer && shellwords.Quote(s.Issuer) == s.Issuer {
			hint = "if you trust the server: --issuer " + s.Issuer
		}
	}
	if err := w.holds("\"issuer\" is identical to the one asked for (RFC 8414 section 3.3)", s.Issuer == issuer, &Error{Rule: IssuerMismatch,
		Text: fmt.Sprintf("the authorization server metadata has another issuer: %q, not %q", s.Issuer, issuer), Hint: wire.Hint(hint)}); err != nil {
		return nil, err
	}
	if err := checkEndpoints(w, &s, n.grant); err != nil {
		return nil, err
	}
	if !n.grant.Browser() {
		return &s, nil
	}
	return &s, checkPKCE(w, &s, n)
}

// checkPKCE checks that the server declares PKCE. One that declares nothing may check it all the same, which the
// user can say; one that declares another method does not.
func checkPKCE(w *Flow, s *Server, n needs) error {
	hint := "a token in MCPC_TOKEN needs no PKCE"
	if s.Device != "" {
		hint = "--grant device and a token in MCPC_TOKEN need no PKCE"
	}
	if len(s.Challenges) == 0 {
		if n.assumesPKCE(s.Issuer) {
			w.tell(Step{Text: "PKCE with S256 is not declared, and used all the same (--assume-pkce)"})
			return nil
		}
		hint = "if you trust the server, --assume-pkce logs in all the same, with S256; " + hint
	}
	hasS256 := `"code_challenge_methods_supported" has S256 ` +
		`(specification, page authorization, "Authorization Code Protection")`
	return w.holds(hasS256, slices.Contains(s.Challenges, "S256"), &Error{Rule: NoPKCE, Hint: wire.Hint(hint),
		Text: "the authorization server does not declare PKCE with S256, so a code could be stolen"})
}

// An endpointOf is one that metadata name.
type endpointOf struct{ name, url string }

// checkEndpoints checks those that a grant needs.
func checkEndpoints(w *Flow, s *Server, g Grant) error {
	needed := []endpointOf{{"token_endpoint", s.Token}}
	if g.Browser() {
		needed = append(needed, endpointOf{"authorization_endpoint", s.Authorization})
	}
	if g == DeviceCode {
		needed = append(needed, endpointOf{"device_authorization_endpoint", s.Device})
	}
	for _, e := range needed {
		if err := w.holds("\""+e.name+"\" is there (RFC 8414 section 2)", e.url != "",
			&Error{Rule: ServerInvalid, Text: "the authorization server's metadata has no " + e.name}); err != nil {
			return err
		}
	}
	for _, e := range append(needed, endpointOf{"registration_endpoint", s.Registration}) {
		if e.url == "" {
			continue
		}
		_, err := SafeURL(e.url)
		broken, _ := err.(*Error)
		if broken != nil {
			broken.Text = fmt.Sprintf("the authorization server's %q cannot be used: %s", e.name, broken.Text)
		}
		if err := w.holds("\""+e.name+"\" is https, or http on this machine (specification, page authorization, \"Communication Security\")", err == nil, broken); err != nil {
			return err
		}
		if err := checkParts(w, e); err != nil {
			return err
		}
	}
	return nil
}

// ownParameters are those of an authorization request that only the client may set, and
// those that would stand in their place (RFC 6749, section 4.1.1; RFC 7636; RFC 8707;
// RFC 9101).
var ownParameters = append([]string{"response_type", "client_id", "redirect_uri", "state", "code_challenge",
	"code_challenge_method", "response_mode", "request", "request_uri"}, replacedParameters...)

// replacedParameters are those which an endpoint's URL may hold: the client's own value replaces that one.
var replacedParameters = []string{"scope", "resource"}

// checkParts checks what an endpoint's URL may not hold.
func checkParts(w *Flow, e endpointOf) error {
	u, err := url.Parse(e.url)
	if err != nil {
		return err
	}
	if err := w.holds("\""+e.name+"\" has no fragment (RFC 6749 sections 3.1 and 3.2)", !strings.Contains(e.url, "#"), &Error{Rule: ServerInvalid,
		Text: fmt.Sprintf("the authorization server's %s has a fragment: %q", e.name, e.url)}); err != nil ||
		e.name != "authorization_endpoint" {
		return err
	}
	query := u.Query()
	own := slices.DeleteFunc(slices.Clone(ownParameters), func(name string) bool {
		return !query.Has(name) || slices.Contains(replacedParameters, name)
	})
	return w.holds(
		"\"authorization_endpoint\" contains no parameter that the client must set (RFC 6749 section 3.1)",
		len(own) == 0,
		&Error{Rule: ServerInvalid,
			Text: fmt.Sprintf(
				"the authorization_endpoint sets the client's own parameters (%s): %q",
				strings.Join(own, ", "),
				e.url,
			)},
	)
}
