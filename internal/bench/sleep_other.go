//go:build !linux

package bench

import (
	"context"
	"time"

	"mcpc/internal/pause"
)

// Sleep waits for d, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) error { return pause.For(ctx, d) }
