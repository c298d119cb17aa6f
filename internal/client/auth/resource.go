package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mcpc/internal/client/network"
)

// errNoObject is the cause of an error about metadata that is not a JSON object, such as a web page.
var errNoObject = errors.New("no JSON object")

// A Resource is the checked Protected Resource Metadata of a server (RFC 9728).
type Resource struct {
	// ID is the "resource" of the requested tokens.
	ID                   string     `json:"resource"`
	AuthorizationServers stringList `json:"authorization_servers"`
	Scopes               stringList `json:"scopes_supported"`
}

// Canonical returns an endpoint as a resource identifier: without user information and fragment,
// and with scheme and host in lower case (basic/authorization, "Canonical Server URI").
func Canonical(endpoint string) (*url.URL, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, &Error{Rule: ResourceInvalid, Text: "not an http URL: the server's address", Err: err}
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Host = strings.ToLower(u.Host)
	u.User = nil
	u.Fragment = ""
	u.RawFragment = ""
	return u, nil
}

// findResource fetches the metadata of a server: from the URLs that the challenge names, then from
// the well-known URLs, first the URL with the endpoint's path. It stops at the first JSON object,
// and returns nil if no URL has one. issuer is the issuer that the user named, or "".
func (flow *Flow) findResource(ctx context.Context, endpoint *url.URL, c Challenge, issuer string) (*Resource, error) {
	origin := (&url.URL{Scheme: endpoint.Scheme, Host: endpoint.Host}).String()
	named := c.metadata()
	var places []string
	for _, where := range named {
		if strings.HasPrefix(where, "/") && !strings.HasPrefix(where, "//") { // a path on the server
			where = origin + where
		}
		places = append(places, where)
	}
	// The well-known URLs (RFC 9728, section 3.1) have no query, because no server has metadata for each query.
	wellKnown := []string{origin + "/.well-known/oauth-protected-resource"}
	if strings.Trim(endpoint.Path, "/") != "" {
		wellKnown = []string{wellKnown[0] + endpoint.EscapedPath(), wellKnown[0]}
	}
	var firstErr error
	var refused []string
	for _, where := range union(places, wellKnown) {
		raw, status, err := flow.fetchDocument(ctx, where, nil)
		if err != nil { // metadata of another place must not count because this one fails for a moment
			return nil, err
		}
		if status != http.StatusOK {
			refused = append(refused, where+" returned "+statusText(status))
			continue
		}
		r, err := readResource(flow, raw, endpoint, issuer)
		if !errors.Is(err, errNoObject) {
			return r, err // invalid metadata is an error, and no reason to look elsewhere
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if firstErr == nil && len(named) > 0 {
		answers := strings.Join(refused[:min(len(refused), len(named))], ", ") // the named URLs' answers first
		firstErr = &Error{
			Rule: ResourceMissing,
			Text: "the resource metadata that the challenge names cannot be read: " + answers,
		}
	}
	return nil, firstErr
}

// isUnreadable reports whether resource metadata was refused, missing or not a JSON object.
func isUnreadable(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return errors.Is(err, errNoObject) || ok && e.Rule == ResourceMissing
}

// readResource parses and checks resource metadata (RFC 9728, section 3.3; basic/authorization,
// "Protected Resource Metadata"). issuer is the issuer that the user named, or ""; it is used if the
// metadata names no authorization server.
func readResource(flow *Flow, raw []byte, endpoint *url.URL, issuer string) (*Resource, error) {
	var r Resource
	m, err := readMetadata(raw, &r, "resource metadata", ResourceInvalid)
	if err := flow.check("resource metadata is a JSON object (RFC 9728 section 3.2)", err == nil, err); err != nil {
		return nil, err
	}
	if err := r.checkServers(flow, m, issuer); err != nil {
		return nil, err
	}
	if err := m.checkLists(flow, "RFC 9728 section 2", "authorization_servers", "scopes_supported"); err != nil {
		return nil, err
	}
	if err := r.checkID(flow, endpoint); err != nil {
		return nil, err
	}
	if err := r.checkServerURLs(flow); err != nil {
		return nil, err
	}
	return &r, nil
}

// checkServers returns an error if the metadata names no authorization server and issuer is "".
// Otherwise issuer becomes the server; without a strict flow that is no error.
func (r *Resource) checkServers(flow *Flow, m metadata, issuer string) error {
	const namesOne = `"authorization_servers" names at least one server ` +
		`(specification, page authorization, "Authorization Server Location")`
	namesNone := &Error{
		Rule: ResourceInvalid, Text: "the resource metadata names no authorization server",
		Hint: "if you know the server's authorization server: --issuer URL",
	}
	if m.kind("authorization_servers") != "" {
		namesNone.Text += ": it has " + m.describeType("authorization_servers")
	}
	if len(r.AuthorizationServers) == 0 && issuer != "" {
		r.AuthorizationServers = stringList{issuer}
		return flow.tolerate(namesOne, namesNone)
	}
	return flow.check(namesOne, len(r.AuthorizationServers) > 0, namesNone)
}

// checkID returns an error if the metadata is not for the server at endpoint or for a part of its
// origin that contains the endpoint.
func (r *Resource) checkID(flow *Flow, endpoint *url.URL) error {
	name := r.ID
	if name == "" {
		name = "nothing"
	}
	mismatch := &Error{
		Rule: ResourceMismatch, Other: r.ID, At: endpoint.String(),
		Text: "the resource metadata is for another server: " + name + ", not " + endpoint.String(),
		Hint: "its tokens would be for another server; contact the server's operator",
	}
	isCovered := Covers(r.ID, endpoint.String())
	if err := flow.check(`"resource" is this server (RFC 9728 section 3.3)`, isCovered, mismatch); err != nil {
		return err
	}
	if strings.TrimSuffix(r.ID, "/") != strings.TrimSuffix(endpoint.String(), "/") {
		flow.report(Step{Text: "\"resource\" is " + r.ID + ", which contains this server"})
	}
	return nil
}

// checkServerURLs returns an error for the first authorization server whose URL cannot be used.
func (r *Resource) checkServerURLs(flow *Flow) error {
	for _, issuer := range r.AuthorizationServers {
		if _, err := SafeURL(issuer); err != nil {
			rule := "authorization servers are https, or http on this machine (RFC 8414 section 2)"
			name := issuer
			if name == "" {
				name = "nothing"
			}
			text := "the resource metadata names an authorization server without https: " + name
			return flow.check(rule, notMet, blockedError(text))
		}
	}
	return nil
}

// Covers reports whether a token for resource may be sent to the URL at: the URL has the same origin, the
// same path or one below it, and the resource's query if that has one.
func Covers(resource, at string) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.User != nil || r.Fragment != "" {
		return false
	}
	u, err := url.Parse(at)
	hasOtherQuery := err == nil && r.RawQuery != "" && r.RawQuery != u.RawQuery
	if err != nil || !sameOrigin(r, u) || hasOtherQuery {
		return false
	}
	path := strings.TrimSuffix(r.EscapedPath(), "/")
	isBelow := strings.HasPrefix(u.EscapedPath(), path+"/")
	isSame := u.EscapedPath() == path || u.EscapedPath() == r.EscapedPath() // without or with its last slash
	return isSame || isBelow
}

// sameOrigin reports whether two URLs have the same scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && network.HostPort(a) == network.HostPort(b)
}
