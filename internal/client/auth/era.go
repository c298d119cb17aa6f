package auth

import (
	"context"
	"net/http"
	"net/url"
)

// findOwnServer returns the metadata of an authorization server at the MCP server's own origin, or
// the default endpoints if there is no metadata (2025-03-26 basic/authorization, "Fallbacks for
// Servers without Metadata Discovery"). Revision 2025-03-26 has no protected resource metadata. Call
// it only if all places of that metadata answered 4xx: invalid metadata is an error, so that
// breaking it does not select the weaker way.
func (flow *Flow) findOwnServer(ctx context.Context, endpoint *url.URL, n needs) (*Server, error) {
	base := (&url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}).String()
	if _, err := SafeURL(base); err != nil {
		return nil, err
	}
	raw, status, err := flow.fetchDocument(ctx, base+"/.well-known/oauth-authorization-server",
		http.Header{"Mcp-Protocol-Version": {"2025-03-26"}})
	if err != nil {
		return nil, err
	}
	if status == http.StatusOK {
		return readServer(flow, raw, base, n)
	}
	s := &Server{
		Issuer:        base,
		Authorization: base + "/authorize",
		Token:         base + "/token",
		Registration:  base + "/register",
		Methods:       []string{"none"}, // mcpc registers as a client without a secret
		Assumed:       true,
	}
	if !n.grant.IsUnattended() { // only a login of a user opens the page
		if err := flow.checkLoginPage(ctx, s.Authorization); err != nil {
			return nil, err
		}
	}
	flow.report(Step{Text: "no metadata found: using the default endpoints of 2025-03-26, with PKCE"})
	return s, nil
}

// operatorToken is the hint for a server without an authorization server.
const operatorToken = "a token from the server's operator goes into MCPC_TOKEN, or into a file for --token-file FILE"

// checkLoginPage returns an error if the default authorization endpoint does not exist: a server
// with fixed tokens has no authorization server, and sends the same challenge as a server that has
// one. An authorization endpoint accepts GET (RFC 6749 section 3.1) and requires no token, so 401,
// 404, 405 and 410 mean that it does not exist.
func (flow *Flow) checkLoginPage(ctx context.Context, where string) error {
	s, err := flow.send(ctx, flow.Net.web, http.MethodGet, where, nil, nil)
	if err != nil {
		s.Broken = true
		s.Text = err.Error()
		flow.report(s)
		return err
	}
	status := s.Status
	answered := where + " returned " + statusText(status)
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusUnauthorized:
		rule := "a server without metadata has the default endpoints (2025-03-26 basic/authorization)"
		return flow.check(rule, notMet, &Error{
			Rule: NoServer, Hint: operatorToken + "; --issuer URL names an authorization server",
			Text: "the server names no authorization server and is not one itself: " + answered,
		})
	}
	flow.report(s)
	return nil
}
