package cmdutil

import (
	"slices"
	"sync"

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

// Repeats holds back the warnings that a command of many calls would give again and
// again: each is given once, and no more than mostWarnings. A nil one holds back
// nothing.
type Repeats struct {
	mu    sync.Mutex
	given map[string]bool
	held  int
}

// Again reports a warning that is not to be given, and counts it.
func (r *Repeats) Again(text string) bool {
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
func (r *Repeats) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}
