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
	w.tell(Step{Text: "no metadata found: using the default endpoints of 2025-03-26, with PKCE"})
	return &Server{Issuer: base, Authorization: base + "/authorize", Token: base + "/token", Registration: base + "/register",
		Methods: []string{"none"}}, nil
}
