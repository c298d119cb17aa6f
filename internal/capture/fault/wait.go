package fault

import (
	"context"
	"time"
)

// Wait waits for a while, or until ctx is done, whose cause it returns then.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
