package cmdutil

import (
	"sync"
)

// RepeatedWarnings holds back the warnings that a command of many calls would give again and
// again: each is given once, and no more than mostWarnings. A nil one holds back
// nothing.
type RepeatedWarnings struct {
	mu    sync.Mutex
	given map[string]bool
	held  int
}
