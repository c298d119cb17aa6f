package console

import (
	"sync"

	"mcpc/internal/connect"
)

// RepeatedWarnings suppress the repeated warnings of a command of many calls: each text is shown
// once, and no more than connect.MostWarnings. A nil value suppresses nothing.
type RepeatedWarnings struct {
	mu         sync.Mutex
	shown      map[string]bool
	suppressed int
}

// Again reports whether a warning must not be shown, because it was shown before or the limit is
// reached, and counts it then. The first time it stores the text as shown.
func (r *RepeatedWarnings) Again(text string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shown[text] || len(r.shown) == connect.MostWarnings {
		r.suppressed++
		return true
	}
	if r.shown == nil {
		r.shown = map[string]bool{}
	}
	r.shown[text] = true
	return false
}

// Left returns how many warnings were suppressed.
func (r *RepeatedWarnings) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.suppressed
}
