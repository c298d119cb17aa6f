// Package bench measures how fast a server answers: it schedules calls, keeps what each took,
// and judges the result. It knows nothing of MCP.
//
// There are two models. In the open model calls arrive by a clock, whatever the server does,
// and the latency of a call counts from the time at which it was planned to start. In the
// closed model each of a number of users makes one call after another, so that a slow server
// slows the load, and latencies are service times.
package bench

import (
	"context"
	"time"
)

// A Plan says which calls are made, and when.
type Plan struct {
	// Rate is how many calls arrive in a second, in the open model; 0 is the closed model.
	Rate float64
	// Poisson lets the gaps between arrivals be random with an exponential distribution.
	Poisson bool
	// Users is how many there are in the closed model, Think how long each waits between
	// two calls.
	Users int
	Think time.Duration
	// Most bounds the calls in a second of all users together; 0 does not.
	Most float64
	// Duration bounds the time in which calls begin, Requests their number; 0 does not.
	// One of them is set.
	Duration time.Duration
	Requests int
	// InFlight bounds the calls under way.
	InFlight int
}

// IsOpen reports the open model.
func (p Plan) IsOpen() bool { return p.Rate > 0 }

// Calls is how many calls the plan has, 0 where that depends on the server.
func (p Plan) Calls() int {
	byTime := int(p.Rate * p.Duration.Seconds())
	if p.Requests > 0 && byTime > 0 {
		return min(p.Requests, byTime)
	}
	if p.Requests > 0 && (p.IsOpen() || p.Duration == 0) {
		return p.Requests
	}
	return byTime
}

// The channels in which calls end. Failures have one of the others, or a name of the caller's.
// A call that ends in Timeout took at least the time after which it was given up.
const (
	OK        = "ok"
	Transport = "transport"
	Timeout   = "timeout"
)

// A Call makes one call. It ends early when ctx is done.
type Call func(ctx context.Context) Ending

// An Ending is how one call ended.
type Ending struct {
	// Channel is OK or another name; "" is a call that was given up, which is not counted.
	Channel string
	// Pause is how long the server asks to send nothing.
	Pause time.Duration
	// Stages are times of a call that ended well, from its start.
	Stages []Stage
}

// A Stage is a point on the way of a call.
type Stage struct {
	Name string
	Took time.Duration
}

// A Sample is one call.
type Sample struct {
	// Intended is when it was planned to start, Start when it did.
	Intended, Start, End time.Time
	Ending
}

// response is the time from the planned start, service the time from the real one.
func (s Sample) response() time.Duration { return s.End.Sub(s.Intended) }
func (s Sample) service() time.Duration  { return s.End.Sub(s.Start) }
