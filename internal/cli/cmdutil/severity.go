package cmdutil

import (
	"slices"

	"mcpc/internal/connect"
	"mcpc/internal/wire"
)

// WorstFirst is every kind but the good one, in the order in which they decide the
// exit code of a command that did several things: the one that wire has for a
// single thing, and around it what is no server's doing and what was not sent.
func WorstFirst() []wire.Kind {
	return slices.Concat([]wire.Kind{wire.Signal, wire.Internal, wire.LocalIO}, wire.Precedence[1:],
		[]wire.Kind{wire.InvalidArguments, wire.Usage, wire.CheckFailed})
}

// MoreSevere returns the one of two kinds that decides the exit code.
func MoreSevere(a, b wire.Kind) wire.Kind {
	for _, kind := range WorstFirst() {
		if a == kind || b == kind {
			return kind
		}
	}
	return wire.OK
}

// Again reports a warning that is not to be given, and counts it.
func (r *RepeatedWarnings) Again(text string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given[text] || len(r.given) == connect.MostWarnings {
		r.held++
		return true
	}
	if r.given == nil {
		r.given = map[string]bool{}
	}
	r.given[text] = true
	return false
}

// Left is how many were held back.
func (r *RepeatedWarnings) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}
