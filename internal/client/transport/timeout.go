package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpc/internal/pause"
)

// Sleep does nothing for a while; false where ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return pause.For(ctx, d) == nil }

// A TimeoutError is the cause of a context that a timer of mcpc's own ended.
type TimeoutError struct {
	Flag  string
	What  string
	After time.Duration
}

// ErrClosed is the cause of a context that closing the session ended.
var ErrClosed = errors.New("the session was closed")

func (e TimeoutError) Error() string { return fmt.Sprintf("%s within %s", e.What, e.After) }
