package auth

import (
	"context"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// A server may name several authorization servers, each of which is independent of
// the others (RFC 9728, section 7.6): it is the client that selects one.

// issuers returns the issuers to be tried, the best first. last is the one that the user named at the last
// login, or "".
func (w *Flow) issuers(ctx context.Context, req Request, r *Resource, known Records, last string) ([]string, error) {
	if req.Issuer != "" {
		return []string{
				req.Issuer,
			}, w.holds(
				"the issuer is one that the server names (RFC 9728 section 7.6)",
				offers(r, req.Issuer),
				&Error{Rule: NotOffered, Hint: "--issuer with one of them",
					Text: "the server's authorization servers do not include " + req.Issuer + ": " + strings.Join(
						r.AuthorizationServers,
						", ",
					)},
			)
	}
	if last != "" && offers(r, last) {
		return []string{last}, nil
	}
	all, isKnown := preferred(r, known)
	if len(all) == 1 || isKnown {
		return all, nil
	}
	if req.Choose == nil {
		w.tell(Step{Text: "authorization servers, using the first: " + strings.Join(all, " ")})
		return all, nil
	}
	chosen, err := req.Choose(ctx, all)
	if err != nil {
		return nil, &Error{Rule: Denied, Text: "no authorization server was chosen: " + err.Error(), Err: err,
			Hint: "use " + wire.Run("login --issuer URL") + ": " + wire.Hint(strings.Join(all, ", "))}
	}
	return []string{chosen}, nil
}

// offers reports whether a server names an issuer, but for a slash at its end.
func offers(r *Resource, issuer string) bool {
	return slices.ContainsFunc(r.AuthorizationServers, func(one string) bool {
		return one == issuer || nearly(one, issuer)
	})
}

// nearly reports whether two issuers differ in a slash at the end, and nothing else.
func nearly(a, b string) bool {
	return a != b && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// preferred puts the issuers first that know mcpc, each by the name that it has for this
// resource, and reports whether there is one.
func preferred(r *Resource, known Records) (all []string, isKnown bool) {
	isOurs := func(issuer string) bool {
		return slices.ContainsFunc(known.Clients, func(c Client) bool { return c.Issuer == issuer && !c.Untried }) ||
			slices.ContainsFunc(known.Tokens, func(t Token) bool { return t.Issuer == issuer })
	}
	var others []string
	for _, issuer := range r.AuthorizationServers {
		byOwnName := slices.IndexFunc(
			known.Tokens,
			func(t Token) bool { return t.Resource == r.ID && nearly(t.Issuer, issuer) },
		)
		switch {
		case isOurs(issuer):
			all = append(all, issuer)
		case byOwnName >= 0:
			all = append(all, known.Tokens[byOwnName].Issuer)
		default:
			others = append(others, issuer)
		}
	}
	return append(all, others...), len(all) > 0
}
