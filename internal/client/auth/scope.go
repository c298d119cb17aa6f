package auth

import "slices"

// selectScopes returns the scopes to request (authorization, "Scope Selection Strategy"): the
// user's, else the challenge's, else all scopes of the resource, else no scopes, so that the
// parameter is omitted. It also keeps the scopes of before, which were requested at the last login
// (SEP-2350), so that a token does not lose access.
func selectScopes(userScopes []string, c Challenge, r *Resource, before []string) []string {
	var chosen []string
	switch {
	case len(userScopes) > 0:
		chosen = userScopes
	case len(c.Scopes()) > 0:
		chosen = c.Scopes()
	case r != nil:
		chosen = r.Scopes
	}
	return union(before, chosen)
}

// union returns the elements of a and then of b, each once.
func union(a, b []string) []string {
	var all []string
	for _, scope := range slices.Concat(a, b) {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// difference returns the elements of wanted that had does not contain.
func difference(wanted, had []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(scope string) bool { return slices.Contains(had, scope) })
}
