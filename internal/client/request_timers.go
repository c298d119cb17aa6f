package client

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// limited gives ctx the limit of a timer of mcpc's own, of which some time is spent already.
// One that is not positive is no limit.
func limited(ctx context.Context, limit transport.TimeoutError, spent time.Duration) (context.Context, context.CancelFunc) {
	if limit.After <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit.After-spent, limit)
}

// outgoing is a message and how the session waits for the response.
type outgoing struct {
	transport.Outgoing
	// token is the progress token that the message carries, or nil.
	token json.RawMessage
	// lasting forbids to cancel the request.
	lasting bool
	// begun is for a request whose answer is the end of what it asks for: the timers
	// run only until begun reports true. It is nil where the answer is the thing.
	begun func() bool
	// patient is for a request that the server answers when something else is done:
	// it has no timers of its own, and its caller limits the time.
	patient bool
	// progressed is called with each progress of the request; it may be nil.
	progressed func()
}

// reply is the transport's reply to a message, and what the session knows of the
// exchange.
type reply struct {
	transport.Reply
	// id is that of the request.
	id json.RawMessage
	// asked is what the server asked on the way and was not answered.
	asked *unanswered
}

// failure is the reply to a message that got none.
func failure(f *transport.Fault) reply { return reply{Reply: transport.Failed(f)} }

// exchange sends a request and waits under the session's timers. When a timer or
// the caller's ctx ends the wait, the server is told first, as its era has it, and
// then the transport lets go.
func (c *connection) exchange(ctx context.Context, e era, out *outgoing, idle time.Duration) reply {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c.noteAsked(out, false)
	now := c.s.opt.Now()
	first := c.update(func(f *connectionState) { f.sent = now }).sent.IsZero()
	if first && idle > 0 && c.line().Name() == transport.Stdio {
		idle = max(idle, c.s.opt.Limits.Start) // the process starts meanwhile
	}
	timers := c.s.pending.start(out, idle, func(cause error) {
		c.noteAsked(out, true)
		if !out.lasting && out.ID != nil && cause != errServerEnds {
			e.cancel(c, out)
		}
		cancel(cause)
	})
	unhook := context.AfterFunc(ctx, func() { timers.giveUp(context.Cause(ctx)) })
	r := reply{Reply: c.line().Call(inner, &out.Outgoing), id: out.ID}
	unhook()
	c.s.pending.stop(timers)
	r.asked = timers.asked
	if cause := context.Cause(inner); cause != nil {
		// What a server answers to a cancellation is not the answer.
		if r.Fault == nil {
			r.Reply = transport.Reply{HTTP: r.HTTP, Fault: &transport.Fault{Phase: "wait", Reached: wire.Answered}}
		}
		r.Fault.EndBy(cause)
		if r.Fault.Kind == wire.Timeout {
			lookBack(c.line(), r.Fault, timers.came)
		}
	}
	return r
}

// lookBack says of a request that got no answer in time what the server said instead.
func lookBack(line transport.Transport, f *transport.Fault, m transport.Diagnostic) {
	if child, ok := line.(transport.StderrSource); ok {
		f.Process = child.StderrTail()
	}
	if pipe, ok := line.(interface{ Pending() transport.Diagnostic }); ok && m.Text == "" {
		m = pipe.Pending()
	}
	if m.Text != "" {
		f.Text += "; " + m.Text
	}
	if m.Hint != "" {
		f.Hint = m.Hint
	}
}

// Diagnose takes what may have been meant for one of the requests under way.
func (c *connection) Diagnose(m transport.Diagnostic) {
	c.s.pending.came(m)
}

// pendingRequests are the requests of a session that are under way, each with its timers.
type pendingRequests struct {
	// life ends when the session is closed, and with it what is under way. hard bounds
	// each request.
	life context.Context
	hard time.Duration

	mu sync.Mutex
	// byToken are those that have a progress token, all is all of them.
	byToken map[string]*requestTimers
	all     map[*requestTimers]bool
	// held counts what the user is being asked.
	held int
}

func newPendingRequests(life context.Context, hard time.Duration) *pendingRequests {
	p := &pendingRequests{life: life, hard: hard, byToken: map[string]*requestTimers{}, all: map[*requestTimers]bool{}}
	context.AfterFunc(life, p.giveUpAll)
	return p
}

// came notes m on all of them: for which it came is unknown.
func (p *pendingRequests) came(m transport.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for timers := range p.all {
		timers.came = m
	}
}

// A requestTimers is the pair of timers over one request: one that progress starts
// anew, and one that nothing stops.
type requestTimers struct {
	token  string
	period time.Duration
	// progressed is that of the outgoing message.
	progressed func()
	// end is called at most once, with the first cause to give the request up.
	end func(cause error)

	mu         sync.Mutex
	idle, hard *time.Timer
	last       float64
	moved      bool
	// held counts what the user is being asked meanwhile.
	held int
	// over is set once the request has ended or is being given up, leaving once
	// it is being given up; that is closed when it is done.
	over    bool
	leaving chan struct{}
	// asked is the first server request that was not answered, came the latest that may
	// have been meant for the answer. They are guarded by the mutex of pendingRequests.
	asked *unanswered
	came  transport.Diagnostic
}

// start begins to watch a request. end is called once if it is given up.
func (p *pendingRequests) start(out *outgoing, idle time.Duration, end func(error)) *requestTimers {
	timers := &requestTimers{token: string(out.token), period: idle, end: end, progressed: out.progressed}
	p.mu.Lock()
	defer p.mu.Unlock()
	timers.mu.Lock()
	defer timers.mu.Unlock()
	what := "no response"
	if out.begun != nil {
		what = "no acknowledgement"
	}
	hard := p.hard
	if out.patient {
		idle, hard = 0, 0
	}
	if idle > 0 {
		timers.idle = time.AfterFunc(idle, func() {
			if out.begun == nil || !out.begun() {
				timers.giveUp(transport.TimeoutError{Flag: "--timeout", What: what, After: idle})
			}
		})
	}
	if hard > 0 && out.begun == nil {
		timers.hard = time.AfterFunc(hard, func() {
			timers.giveUp(transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: hard})
		})
	}
	p.all[timers] = true
	if timers.token != "" {
		p.byToken[timers.token] = timers
	}
	if timers.held = p.held; timers.held > 0 && timers.idle != nil {
		timers.idle.Stop()
	}
	if p.life.Err() != nil {
		go timers.giveUp(transport.ErrClosed)
	}
	return timers
}

// giveUpAll ends what is under way when the session is closed.
func (p *pendingRequests) giveUpAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for timers := range p.all {
		go timers.giveUp(transport.ErrClosed)
	}
}

// stop ends the watch. From then on nothing is cancelled any more, and
// what is being cancelled has been (basic/utilities/cancellation: only requests
// "believed to be still in-progress").
func (p *pendingRequests) stop(timers *requestTimers) {
	p.mu.Lock()
	delete(p.all, timers)
	if p.byToken[timers.token] == timers {
		delete(p.byToken, timers.token)
	}
	p.mu.Unlock()
	timers.mu.Lock()
	timers.over = true
	for _, t := range []*time.Timer{timers.idle, timers.hard} {
		if t != nil {
			t.Stop()
		}
	}
	leaving := timers.leaving
	timers.mu.Unlock()
	if leaving != nil {
		<-leaving
	}
}

func (timers *requestTimers) giveUp(cause error) {
	timers.mu.Lock()
	first := !timers.over
	if first {
		timers.over, timers.leaving = true, make(chan struct{})
	}
	timers.mu.Unlock()
	if first {
		timers.end(cause)
		close(timers.leaving)
	}
}

// progressed starts the idle timer of a request anew. Only progress of an open
// request that goes forward counts (basic/utilities/progress): a server must not
// be able to keep a client waiting by repeating itself. It reports whether the
// progress is that of an open request.
func (p *pendingRequests) progressed(m *wire.Message) (ours bool) {
	params, _ := m.ParamMembers()
	token, _ := params.Get("progressToken")
	raw, _ := params.Get("progress")
	value, err := strconv.ParseFloat(string(raw), 64)
	p.mu.Lock()
	timers := p.byToken[string(token)]
	p.mu.Unlock()
	if timers != nil && err == nil {
		timers.advance(value)
		if timers.progressed != nil {
			timers.progressed()
		}
	}
	return timers != nil
}

func (timers *requestTimers) advance(value float64) {
	timers.mu.Lock()
	defer timers.mu.Unlock()
	if timers.over || timers.moved && value <= timers.last {
		return
	}
	timers.moved, timers.last = true, value
	if timers.idle != nil && timers.held == 0 {
		timers.idle.Reset(timers.period)
	}
}
