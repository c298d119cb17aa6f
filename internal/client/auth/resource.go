package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/client/network"
)

// errNoObject is the cause of an error about metadata that are not a JSON object, such as a web page.
var errNoObject = errors.New("no JSON object")

// A Resource is what a protected server says of itself: its Protected Resource
// Metadata (RFC 9728), checked.
type Resource struct {
	// ID is the "resource" that tokens are asked for.
	ID                   string `json:"resource"`
	AuthorizationServers words  `json:"authorization_servers"`
	Scopes               words  `json:"scopes_supported"`
}

// Canonical is an endpoint as a resource identifier: no fragment, scheme and host
// in lower case (basic/authorization, "Canonical Server URI").
func Canonical(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, &Error{Rule: ResourceInvalid, Text: "not an http URL: the server's address", Err: err}
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	u.User = nil
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// resource finds the metadata of a server: at the places that the challenge names, then at the well-known
// places, the one with the path first. It stops at the first JSON object. Returns nil if there is none. The issuer is
// the one that the user named, or "".
func (w *Flow) resource(ctx context.Context, endpoint *url.URL, c Challenge, issuer string) (*Resource, error) {
	origin := (&url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}).String()
	named := c.metadata()
	var places []string
	for _, where := range named {
		if strings.HasPrefix(where, "/") && !strings.HasPrefix(where, "//") { // a path on the server
			where = origin + where
		}
		places = append(places, where)
	}
	// The well-known places (RFC 9728, section 3.1), without the query, which no server serves variants for.
	wellKnown := []string{origin + "/.well-known/oauth-protected-resource"}
	if strings.Trim(endpoint.Path, "/") != "" {
		wellKnown = []string{wellKnown[0] + endpoint.EscapedPath(), wellKnown[0]}
	}
	var first error
	var refused []string
	for _, where := range union(places, wellKnown) {
		raw, status, err := w.document(ctx, where, nil)
		if err != nil {
			return nil, err
		}
		if status != http.StatusOK {
			refused = append(refused, where+" answered "+statusText(status))
			continue
		}
		r, err := readResource(w, raw, endpoint, issuer)
		if !errors.Is(err, errNoObject) {
			return r, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil && len(named) > 0 {
		first = &Error{Rule: ResourceMissing,
			Text: "the resource metadata that the challenge names cannot be read: " + strings.Join(
				refused[:min(len(refused), len(named))],
				", ",
			)}
	}
	return nil, first
}

// isUnreadable reports an error about resource metadata that are refused, missing or no JSON object.
func isUnreadable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return errors.Is(err, errNoObject) || ok && e.Rule == ResourceMissing
}

// readResource checks what was fetched (RFC 9728, section 3.3; basic/
// authorization, "Protected Resource Metadata"). The issuer is the one that the user named, or "": it is used if
// the metadata name no authorization server.
func readResource(w *Flow, raw []byte, endpoint *url.URL, issuer string) (*Resource, error) {
	var r Resource
	m, err := readMetadata(raw, &r, "resource metadata", ResourceInvalid)
	if err := w.holds("resource metadata is a JSON object (RFC 9728 section 3.2)", err == nil, err); err != nil {
		return nil, err
	}
	const namesOne = "\"authorization_servers\" names at least one server (specification, page authorization, \"Authorization Server Location\")"
	none := &Error{Rule: ResourceInvalid, Text: "the resource metadata names no authorization server",
		Hint: "if you know the server's authorization server: --issuer URL"}
	if m.kind("authorization_servers") != "" {
		none.Text += ": it has " + m.typed("authorization_servers")
	}
	if len(r.AuthorizationServers) == 0 && issuer != "" {
		r.AuthorizationServers = words{issuer}
		if err := w.tolerates(namesOne, none); err != nil {
			return nil, err
		}
	} else if err := w.holds(namesOne, len(r.AuthorizationServers) > 0, none); err != nil {
		return nil, err
	}
	if err := m.checkLists(w, "RFC 9728 section 2", "authorization_servers", "scopes_supported"); err != nil {
		return nil, err
	}
	if err := w.holds("\"resource\" is this server (RFC 9728 section 3.3)", Covers(r.ID, endpoint.String()),
		&Error{Rule: ResourceMismatch, Text: "the resource metadata is for another server: " + cmp.Or(r.ID, "nothing") + ", not " + endpoint.String(),
			Hint: "its tokens would be for another server; contact the server's operator", Other: r.ID, At: endpoint.String()}); err != nil {
		return nil, err
	}
	if strings.TrimSuffix(r.ID, "/") != strings.TrimSuffix(endpoint.String(), "/") {
		w.tell(Step{Text: "\"resource\" is " + r.ID + ", which contains this server"})
	}
	bad := slices.IndexFunc(
		r.AuthorizationServers,
		func(issuer string) bool { _, err := SafeURL(issuer); return err != nil },
	)
	if bad >= 0 {
		return nil, w.holds(
			"authorization servers are https, or http on this machine (RFC 8414 section 2)",
			false,
			blocked(
				"the resource metadata names an authorization server without https: "+cmp.Or(
					r.AuthorizationServers[bad],
					"nothing",
				),
			),
		)
	}
	return &r, nil
}

// Covers reports whether a token for resource may be sent to a URL: the same origin,
// and the same path or one below it.
func Covers(resource, at string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.User != nil || r.Fragment != "" {
		return false
	}
	u, err := url.Parse(at)
	if err != nil || !sameOrigin(r, u) || r.RawQuery != "" && r.RawQuery != u.RawQuery {
		return false
	}
	path := strings.TrimSuffix(r.EscapedPath(), "/")
	return u.EscapedPath() == path || strings.HasPrefix(u.EscapedPath(), path+"/") || u.EscapedPath() == r.EscapedPath()
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && network.HostPort(a) == network.HostPort(b)
}
