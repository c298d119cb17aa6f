// Package pause waits for a time and for channels that are closed.
package pause

import (
	"context"
	"time"
)

// For waits for d, or until ctx is done, and then returns the cause of ctx.
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

// Within waits at most grace and reports whether done was closed.
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

// IsOver reports whether done is closed. It reports false if done is nil.
func IsOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
