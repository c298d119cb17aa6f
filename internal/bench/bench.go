// Package bench measures how fast a server responds: it schedules calls, records their times, and
// judges the result. It does not depend on MCP.
//
// It has two models. In the open model calls start by a clock, whatever the server does, and the
// latency of a call counts from its planned start. In the closed model a number of users make one
// call after another: a slow server slows the load, and latencies are service times.
package bench

import (
	"context"
	"time"
)

// A Plan is the number and the schedule of the calls.
type Plan struct {
	// Rate is the number of calls per second in the open model; 0 selects the closed model.
	Rate float64
	// Poisson makes the gaps between calls random, with an exponential distribution.
	Poisson bool
	// Users is the number of users in the closed model. Think is the pause of a user between calls.
	Users int
	Think time.Duration
	// MaxRate limits the calls per second of all users in total; 0 means no limit.
	MaxRate float64
	// Duration limits the time when calls may start, Requests limits their number; 0 means no
	// limit. At least one is set.
	Duration time.Duration
	Requests int
	// InFlight limits the calls in flight in the open model.
	InFlight int
}

// IsOpen reports whether the plan is of the open model.
func (p Plan) IsOpen() bool { return p.Rate > 0 }

// Calls returns the number of planned calls, or 0 if it depends on the server: in the closed model
// with a Duration.
func (p Plan) Calls() int {
	byTime := int(p.Rate * p.Duration.Seconds()) // 0 in the closed model and without a Duration
	if p.Requests > 0 && byTime > 0 {
		return min(p.Requests, byTime)
	}
	endsByRequests := p.IsOpen() || p.Duration == 0
	if p.Requests > 0 && endsByRequests {
		return p.Requests
	}
	return byTime
}

// The channels that this package uses. The caller may use other names for failures. A call with
// Timeout took at least as long as its time limit.
const (
	OK        = "ok"
	Transport = "transport"
	Timeout   = "timeout"
)

// A Call makes one call. It ends early when ctx is done.
type Call func(ctx context.Context) CallOutcome

// A CallOutcome is the outcome of one call.
type CallOutcome struct {
	// Channel is OK or the kind of failure; "" is an interrupted call, which is not counted.
	Channel string
	// Pause is how long the server asks clients to send no calls.
	Pause time.Duration
	// Stages are intermediate times of a successful call.
	Stages []Stage
}

// A Stage is an intermediate time of a call, such as its first progress.
type Stage struct {
	Name string
	Took time.Duration
}

// A Sample is one recorded call.
type Sample struct {
	// Intended is the planned start, Start the actual one.
	Intended, Start, End time.Time
	CallOutcome
}

// response returns the time from the planned start to the end.
func (s Sample) response() time.Duration { return s.End.Sub(s.Intended) }

// service returns the time from the actual start to the end.
func (s Sample) service() time.Duration { return s.End.Sub(s.Start) }
