package auth

import (
	"context"
	"net/http"
	"net/url"
)

// A server of 2025-03-26 is its own authorization server and has no protected resource
// metadata. That is tried only where all places of the latter answered with 4xx: metadata
// that is there and wrong is an error, else breaking it would choose the weaker way.

// ownServer finds the metadata of the server itself, or takes the endpoints that
// stand in for it (2025-03-26 basic/authorization, "Fallbacks for Servers without
// Metadata Discovery").
func (w *Flow) ownServer(ctx context.Context, endpoint *url.URL, n needs) (*Server, error) {
	base := (&url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}).String()
	if _, err := SafeURL(base); err != nil {
		return nil, err
	}
	raw, status, err := w.document(ctx, base+"/.well-known/oauth-authorization-server",
		http.Header{"Mcp-Protocol-Version": {"2025-03-26"}})
	if err != nil {
		return nil, err
	}
	if status == http.StatusOK {
		return readServer(w, raw, base, n)
	}
	s := &Server{
		Issuer:        base,
		Authorization: base + "/authorize",
		Token:         base + "/token",
		Registration:  base + "/register",
		Methods:       []string{"none"},
		Assumed:       true,
	}
	if !n.grant.Unattended() {
		if err := w.hasLoginPage(ctx, s.Authorization); err != nil {
			return nil, err
		}
	}
	w.tell(Step{Text: "no metadata found: using the default endpoints of 2025-03-26, with PKCE"})
	return s, nil
}

// operatorToken is the way in to a server without an authorization server.
const operatorToken = "a token from the server's operator goes into MCPC_TOKEN, or into a file for --token-file FILE"

// hasLoginPage returns an error if nothing answers at the default authorization endpoint: a server that checks fixed
// tokens has no authorization server, and sends the same challenge as one that has. An authorization endpoint
// accepts GET (RFC 6749 section 3.1) and asks for no token, so that these four statuses are not its own.
func (w *Flow) hasLoginPage(ctx context.Context, where string) error {
	_, status, err := w.Net.send(ctx, w.Net.web, http.MethodGet, where, nil, nil)
	if err != nil {
		w.tell(Step{URL: where, Status: status, Broken: true, Text: err.Error()})
		return err
	}
	answered := where + " answered " + statusText(status)
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed, http.StatusUnauthorized:
		return w.holds("a server without metadata has the default endpoints (2025-03-26 basic/authorization)", false,
			&Error{Rule: NoServer, Hint: operatorToken + "; --issuer URL names an authorization server",
				Text: "the server names no authorization server and is none: " + answered})
	}
	w.tell(Step{Text: answered})
	return nil
}
