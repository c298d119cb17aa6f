// Package pause waits: for a time, and for channels that are only ever closed.
package pause

import (
	"context"
	"time"
)

// For waits for a while, or until ctx is done, whose cause it returns then.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

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

// IsOver reports whether done is closed; nil never is.
func IsOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
