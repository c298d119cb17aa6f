package auth

import "slices"

// scopes chooses what is asked for (authorization, "Scope Selection Strategy"):
// what the user says, else what the challenge names, else all that the resource
// knows of, else nothing, which leaves the parameter out. What was asked for before
// is kept (sep 2350): a token must not lose what it could do.
func scopes(asked []string, c Challenge, r *Resource, before []string) (chosen []string) {
	switch {
	case len(asked) > 0:
		chosen = asked
	case len(c.Scopes()) > 0:
		chosen = c.Scopes()
	case r != nil:
		chosen = r.Scopes
	}
	return union(before, chosen)
}

func union(a, b []string) (all []string) {
	for _, scope := range slices.Concat(a, b) {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// missing are those of wanted that had does not hold.
func missing(wanted, had []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(scope string) bool { return slices.Contains(had, scope) })
}
