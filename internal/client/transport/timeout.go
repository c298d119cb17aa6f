package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpc/internal/pause"
)

// Sleep waits for d. It reports false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return pause.For(ctx, d) == nil }

// A TimeoutError is the cause of a context that a timer of mcpc ended.
type TimeoutError struct {
	Flag  string
	What  string
	After time.Duration
}

// ErrClosed is the cause of a context that ended because the session was closed.
var ErrClosed = errors.New("the session was closed")

// Error returns the text.
func (e TimeoutError) Error() string { return fmt.Sprintf("%s within %s", e.What, e.After) }
