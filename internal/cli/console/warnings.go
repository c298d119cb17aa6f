package console

import (
	"sync"

	"mcpc/internal/connect"
)

// RepeatedWarnings holds back the warnings that a command of many calls would give again and
// again: each is given once, and no more than mostWarnings. A nil one holds back
// nothing.
type RepeatedWarnings struct {
	mu    sync.Mutex
	given map[string]bool
	held  int
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
