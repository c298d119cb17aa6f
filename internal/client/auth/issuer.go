package auth

import (
	"context"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// chooseIssuers returns the issuers to try, the best first. A server may name several independent
// authorization servers, and the client selects one (RFC 9728, section 7.6). last is the issuer
// that the user named at the last login, or "". It returns an error if the user names an issuer
// that the server does not name, or does not choose one.
func (flow *Flow) chooseIssuers(
	ctx context.Context, req Request, r *Resource, known Records, last string,
) ([]string, error) {
	if req.Issuer != "" {
		all := strings.Join(r.AuthorizationServers, ", ")
		err := flow.check("the issuer is one that the server names (RFC 9728 section 7.6)", offersIssuer(r, req.Issuer),
			&Error{
				Rule: NotOffered, Hint: "use --issuer with one of these",
				Text: "the server's authorization servers do not include " + req.Issuer + ": " + all,
			})
		return []string{req.Issuer}, err
	}
	if last != "" && offersIssuer(r, last) {
		return []string{last}, nil
	}
	all, isKnown := orderIssuers(r, known)
	if len(all) == 1 || isKnown { // nothing to choose, or chosen at an earlier login
		return all, nil
	}
	if req.Choose == nil {
		flow.report(Step{Text: "authorization servers, using the first: " + strings.Join(all, " ")})
		return all, nil
	}
	chosen, err := req.Choose(ctx, all)
	if err != nil {
		return nil, &Error{
			Rule: Denied, Text: "no authorization server was chosen: " + err.Error(), Err: err,
			Hint: "use " + wire.Run("login --issuer URL") + ": " + wire.Hint(strings.Join(all, ", ")),
		}
	}
	return []string{chosen}, nil
}

// offersIssuer reports whether a server names an issuer, ignoring a trailing slash.
func offersIssuer(r *Resource, issuer string) bool {
	return slices.ContainsFunc(r.AuthorizationServers, func(offered string) bool {
		return offered == issuer || differBySlash(offered, issuer)
	})
}

// differBySlash reports whether a and b differ only in a trailing slash.
func differBySlash(a, b string) bool {
	return a != b && strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/")
}

// orderIssuers returns the server's issuers, first the issuers that mcpc has a client or a token
// for. It reports whether there is such an issuer. An issuer that only differs in a trailing slash
// from a stored one is returned as stored.
func orderIssuers(r *Resource, known Records) (all []string, isKnown bool) {
	isKnownIssuer := func(issuer string) bool {
		return slices.ContainsFunc(known.Clients, func(c Client) bool { return c.Issuer == issuer && !c.Untried }) ||
			slices.ContainsFunc(known.Tokens, func(t Token) bool { return t.Issuer == issuer })
	}
	var others []string
	for _, issuer := range r.AuthorizationServers {
		stored := slices.IndexFunc(known.Tokens, func(t Token) bool {
			return t.Resource == r.ID && differBySlash(t.Issuer, issuer)
		})
		if isKnownIssuer(issuer) {
			all = append(all, issuer)
		} else if stored >= 0 {
			all = append(all, known.Tokens[stored].Issuer)
		} else {
			others = append(others, issuer)
		}
	}
	return append(all, others...), len(all) > 0
}
