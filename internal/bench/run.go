package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// overtime is how long after the end of a run a planned call may still be sent.
const overtime = time.Second

// pauseAfterFailure is how long a user of the closed model waits after a transport failure: a server
// that has ended refuses calls faster than it answered them.
const pauseAfterFailure = 100 * time.Millisecond

// Run makes the calls of a plan and records them. It returns when all calls have ended, when ctx is
// done, or when more than half of the calls failed for 10 s.
func Run(ctx context.Context, p Plan, r *Recorder, call Call) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := &planRun{Plan: p, rec: r, call: call, cancel: stop}
	run.began = r.startRun(p.IsOpen())
	if p.IsOpen() {
		run.runOpen(ctx)
	} else {
		run.runClosed(ctx)
	}
	run.calls.Wait()
	// In the open model a run that was not stopped counts for its planned duration at least, also if
	// its last call ended earlier.
	minDuration := time.Duration(0)
	if p.IsOpen() && ctx.Err() == nil {
		minDuration = p.Duration
	}
	r.finishRun(minDuration)
}

// planRun is one run of a plan.
type planRun struct {
	Plan
	rec    *Recorder
	call   Call
	cancel context.CancelFunc
	began  time.Time
	calls  sync.WaitGroup
}

// arrivals returns a function that returns the planned starts in order, from the start of the run.
// Random gaps are the same in every run.
func (p Plan) arrivals() func() time.Duration {
	if !p.Poisson {
		n := 0 // calls so far
		return func() time.Duration {
			start := secondsToDuration(float64(n) / p.Rate)
			n++
			return start
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	seconds := 0.0
	return func() time.Duration {
		seconds += random.ExpFloat64() / p.Rate
		return secondsToDuration(seconds)
	}
}

// maxStart is later than the end of every run.
const maxStart = 100 * 365 * 24 * time.Hour

// secondsToDuration converts seconds to a Duration, up to maxStart.
func secondsToDuration(seconds float64) time.Duration {
	if seconds >= maxStart.Seconds() {
		return maxStart
	}
	return time.Duration(seconds * float64(time.Second))
}

// runOpen starts each call at its planned time, or later if too many calls are in flight. It omits
// calls during a pause that the server asked for, and calls that are too late.
func (r *planRun) runOpen(ctx context.Context) {
	slots := make(chan struct{}, r.InFlight)
	nextOffset := r.arrivals()
	lastDelayed := r.began // when sending was last delayed by the limit of calls in flight
	for n := 0; r.Requests == 0 || n < r.Requests; n++ {
		offset := nextOffset()
		if r.Duration > 0 && offset >= r.Duration {
			return
		}
		intended := r.began.Add(offset)
		if r.sleepUntil(ctx, intended) != nil {
			return
		}
		if intended.Before(r.rec.acceptsFrom()) { // the server asked for a pause
			r.rec.countGenerated(func(g *generator) { g.heldBack++ })
			continue
		}
		hasWaited, err := takeSlot(ctx, slots)
		if err != nil {
			return
		}
		if hasWaited {
			lastDelayed = r.rec.Now()
			r.rec.countGenerated(func(g *generator) { g.waited++ })
		}
		if r.Duration > 0 && r.rec.Now().Sub(r.began) > r.Duration+overtime { // too late to be sent
			<-slots
			r.rec.countGenerated(func(g *generator) { g.missed++ })
			continue
		}
		// Lag is the fault of this machine: the time that a call waited for a slot does not count.
		delayedUntil := lastDelayed
		r.calls.Go(func() {
			defer func() { <-slots }()
			start := r.rec.Now()
			r.rec.countGenerated(func(g *generator) { g.lag.add(start.Sub(laterOf(intended, delayedUntil))) })
			r.makeCall(ctx, intended, start)
		})
	}
}

// takeSlot takes a slot for a call in flight, and reports whether it had to wait for one. It returns
// an error if ctx is done first.
func takeSlot(ctx context.Context, slots chan<- struct{}) (bool, error) {
	select {
	case slots <- struct{}{}:
		return false, nil
	default:
	}
	select {
	case slots <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// sleepUntil waits until a time, or until ctx is done; then it returns an error. Sleep may return
// early.
func (r *planRun) sleepUntil(ctx context.Context, wake time.Time) error {
	for remaining := wake.Sub(r.rec.Now()); remaining > 0; remaining = wake.Sub(r.rec.Now()) {
		if err := r.rec.Sleep(ctx, remaining); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// laterOf returns the later of two times.
func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runClosed lets each user make one call after another, until the time or the number of calls is
// used up.
func (r *planRun) runClosed(ctx context.Context) {
	var started atomic.Int64
	startCall := func() bool { // counts a call, and reports whether it may be made
		isOver := r.Duration > 0 && r.rec.Now().Sub(r.began) >= r.Duration
		if ctx.Err() != nil || isOver {
			return false
		}
		return r.Requests == 0 || started.Add(1) <= int64(r.Requests)
	}
	nextStart := r.nextStarts()
	for range r.Users {
		r.calls.Go(func() {
			for r.sleepUntil(ctx, nextStart()) == nil && startCall() {
				start := r.rec.Now()
				wait := r.Think
				if r.makeCall(ctx, start, start) == Transport {
					wait = max(wait, pauseAfterFailure)
				}
				_ = r.sleepUntil(ctx, laterOf(r.rec.Now().Add(wait), r.rec.acceptsFrom()))
			}
		})
	}
}

// nextStarts returns a function that returns when the next call of any user may start, limited by
// MaxRate. The function may be called concurrently.
func (r *planRun) nextStarts() func() time.Time {
	var mu sync.Mutex
	next := r.began
	return func() time.Time {
		if r.MaxRate == 0 { // no limit: at once
			return r.began
		}
		mu.Lock()
		defer mu.Unlock()
		start := laterOf(next, r.rec.Now())
		next = start.Add(secondsToDuration(1 / r.MaxRate))
		return start
	}
}

// makeCall makes a call, records it and returns its channel. It ends the run if the recorder says so.
func (r *planRun) makeCall(ctx context.Context, intended, start time.Time) string {
	outcome := r.call(ctx)
	end := r.rec.Now()
	mustStop := r.rec.add(Sample{Intended: intended, Start: start, End: end, CallOutcome: outcome})
	if mustStop {
		r.cancel()
	}
	return outcome.Channel
}
