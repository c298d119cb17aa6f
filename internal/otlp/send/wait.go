package send

import (
	"context"
	"time"
)

// waitFor waits for a time, for the channel, or until the Exporter is closed.
func (e *Exporter) waitFor(d time.Duration, early <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-early:
	case <-e.closing:
	}
}

// wait waits before the next attempt. It reports false if there is no time for one.
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
		if last, known := deadline(); known && last.Before(end) {
			return false
		}
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		case <-closing:
			closing = nil // the deadline is known now
		}
	}
}

// limited is context.WithTimeout, where 0 is no limit.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}
