package main

import (
	"slices"
	"sync"

	"mcpc/internal/wire"
)

// worstFirst is every kind but the good one, in the order in which they decide the
// exit code of a command that did several things: the one that wire has for a
// single thing, and around it what is no server's doing and what was not sent.
func worstFirst() []wire.Kind {
	return slices.Concat([]wire.Kind{wire.Signal, wire.Internal, wire.LocalIO}, wire.Precedence[1:],
		[]wire.Kind{wire.InvalidArguments, wire.Usage, wire.CheckFailed})
}

// worse is the one of two kinds that decides.
func worse(a, b wire.Kind) wire.Kind {
	for _, kind := range worstFirst() {
		if a == kind || b == kind {
			return kind
		}
	}
	return wire.OK
}

// repeats holds back the warnings that a command of many calls would give again and
// again: each is given once, and no more than mostWarnings. A nil one holds back
// nothing.
type repeats struct {
	mu    sync.Mutex
	given map[string]bool
	held  int
}

const mostWarnings = 20

// again reports a warning that is not to be given, and counts it.
func (r *repeats) again(text string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.given[text] || len(r.given) == mostWarnings {
		r.held++
		return true
	}
	if r.given == nil {
		r.given = map[string]bool{}
	}
	r.given[text] = true
	return false
}

// left is how many were held back.
func (r *repeats) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}
