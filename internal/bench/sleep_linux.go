package bench

import (
	"context"
	"syscall"
	"time"

	"mcpc/internal/pause"
)

// timerGrain is by how much Go's timers may be late here, where epoll counts in milliseconds,
// and a little more.
const timerGrain = 1500 * time.Microsecond

// Sleep waits for a time, or until ctx is done. It may return a little earlier, so that the
// caller looks at the clock and calls it again: the last part is slept exactly.
func Sleep(ctx context.Context, d time.Duration) error {
	if d > timerGrain {
		return pause.For(ctx, d-timerGrain)
	}
	if d > 0 { // nanosleep ends for no ctx
		left := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&left, nil)
	}
	return context.Cause(ctx)
}
