package bench

import (
	"context"
	"syscall"
	"time"

	"mcpc/internal/pause"
)

// timerGrain is by how much Go's timers may be late on Linux, where epoll counts in milliseconds.
const timerGrain = 1500 * time.Microsecond

// Sleep waits for a time, or until ctx is done. It may return a little early: the caller checks the
// clock and calls it again, and the last part is slept exactly.
func Sleep(ctx context.Context, d time.Duration) error {
	if d > timerGrain {
		return pause.For(ctx, d-timerGrain)
	}
	if d > 0 { // nanosleep does not end with ctx
		remaining := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&remaining, nil)
	}
	return context.Cause(ctx)
}
