package send

import (
	"context"
	"time"
)

// waitFor returns after d, when early receives a value, or when the Exporter is closed.
func (e *Exporter) waitFor(d time.Duration, early <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-e.closing:
	}
}

// wait waits for d before the next attempt. It returns false if ctx ends, or at once if the
// deadline is earlier than the attempt.
func (c *courier) wait(
	ctx context.Context,
	d time.Duration,
	closing <-chan struct{},
	deadline func() (time.Time, bool),
) bool {
	end := c.options.Now().Add(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		if latest, known := deadline(); known && latest.Before(end) {
			return false
		}
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		case <-closing:
			closing = nil // the next loop checks the deadline
		}
	}
}

// withTimeout returns a context with a timeout. 0 means no timeout.
func withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
