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
	run := &running{Plan: p, rec: r, call: call, stop: stop}
	run.began = r.begin(p.IsOpen())
	if p.IsOpen() {
		run.runOpen(ctx)
	} else {
		run.runClosed(ctx)
	}
	run.calls.Wait()
	if !p.IsOpen() || ctx.Err() != nil {
		p.Duration = 0
	}
	r.finish(p.Duration)
}

// running is one run of a plan.
type running struct {
	Plan
	rec   *Recorder
	call  Call
	stop  context.CancelFunc
	began time.Time
	calls sync.WaitGroup
}

// arrivals returns a function that returns the planned starts in order, from the start of the run.
// Random gaps are the same in every run.
func (p Plan) arrivals() func() time.Duration {
	if !p.Poisson {
		n := -1.0
		return func() time.Duration {
			n++
			return inSeconds(n / p.Rate)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	at := 0.0
	return func() time.Duration {
		at += random.ExpFloat64() / p.Rate
		return inSeconds(at)
	}
}

// maxStart is later than the end of every run.
const maxStart = 100 * 365 * 24 * time.Hour

// inSeconds converts seconds to a Duration, up to maxStart.
func inSeconds(seconds float64) time.Duration {
	if seconds >= maxStart.Seconds() {
		return maxStart
	}
	return time.Duration(seconds * float64(time.Second))
}

// runOpen starts each call at its planned time, or later if too many calls are in flight.
func (r *running) runOpen(ctx context.Context) {
	places := make(chan struct{}, r.InFlight)
	next := r.arrivals()
	lastFree := r.began // when sending was last delayed by the limit of calls in flight
	for n := 0; r.Requests == 0 || n < r.Requests; n++ {
		at := next()
		if r.Duration > 0 && at >= r.Duration {
			return
		}
		intended := r.began.Add(at)
		if r.sleepUntil(ctx, intended) != nil {
			return
		}
		if intended.Before(r.rec.resumesAt()) {
			r.rec.countGenerated(func(g *generator) { g.held++ })
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			select {
			case places <- struct{}{}:
				lastFree = r.rec.Now()
				r.rec.countGenerated(func(g *generator) { g.waited++ })
			case <-ctx.Done():
				return
			}
		}
		if r.Duration > 0 && r.rec.Now().Sub(r.began) > r.Duration+overtime {
			<-places
			r.rec.countGenerated(func(g *generator) { g.missed++ })
			continue
		}
		freeSince := lastFree
		r.calls.Go(func() {
			defer func() { <-places }()
			start := r.rec.Now()
			r.rec.countGenerated(func(g *generator) { g.lag.add(start.Sub(later(intended, freeSince))) })
			r.makeCall(ctx, intended, start)
		})
	}
}

// sleepUntil waits until a time, or until ctx is done.
func (r *running) sleepUntil(ctx context.Context, at time.Time) error {
	for left := at.Sub(r.rec.Now()); left > 0; left = at.Sub(r.rec.Now()) {
		if err := r.rec.Sleep(ctx, left); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// runClosed lets each user make one call after another.
func (r *running) runClosed(ctx context.Context) {
	var begun atomic.Int64
	more := func() bool {
		return ctx.Err() == nil && (r.Duration == 0 || r.rec.Now().Sub(r.began) < r.Duration) &&
			(r.Requests == 0 || begun.Add(1) <= int64(r.Requests))
	}
	turn := r.nextStarts()
	for range r.Users {
		r.calls.Go(func() {
			for r.sleepUntil(ctx, turn()) == nil && more() {
				start := r.rec.Now()
				wait := r.Think
				if r.makeCall(ctx, start, start) == Transport {
					wait = max(wait, pauseAfterFailure)
				}
				_ = r.sleepUntil(ctx, later(r.rec.Now().Add(wait), r.rec.resumesAt()))
			}
		})
	}
}

// nextStarts returns a function that returns when the next call of any user may start, limited by
// Most.
func (r *running) nextStarts() func() time.Time {
	var mu sync.Mutex
	next := r.began
	return func() time.Time {
		if r.Most == 0 {
			return r.began
		}
		mu.Lock()
		defer mu.Unlock()
		at := later(next, r.rec.Now())
		next = at.Add(inSeconds(1 / r.Most))
		return at
	}
}

// makeCall makes a call and records it.
func (r *running) makeCall(ctx context.Context, intended, start time.Time) (channel string) {
	ending := r.call(ctx)
	end := r.rec.Now()
	if r.rec.add(Sample{Intended: intended, Start: start, End: end, Ending: ending}) {
		r.stop()
	}
	return ending.Channel
}
