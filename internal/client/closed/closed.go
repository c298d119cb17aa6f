// Package closed waits for channels that are only ever closed.
package closed

import (
	"time"
)

// Within reports whether done is closed within a time.
func Within(done <-chan struct{}, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// Now reports whether a channel is closed; nil never is.
func Now(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
