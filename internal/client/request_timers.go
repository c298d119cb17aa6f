package client

import (
	"context"
	"encoding/json"
	"slices"
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
	timers := c.s.pending.start(ctx, out, idle, func(cause error) {
		c.noteAsked(out, true)
		if !out.lasting && out.ID != nil && cause != errServerEnds {
			e.cancel(c, out)
		}
		cancel(cause)
	})
	r := reply{Reply: c.line().Call(inner, &out.Outgoing), id: out.ID}
	came := c.s.pending.stop(timers, &r)
	if cause := context.Cause(inner); cause != nil {
		// What a server answers to a cancellation is not the answer.
		if r.Fault == nil {
			r.Reply = transport.Reply{HTTP: r.HTTP, Fault: &transport.Fault{Phase: "wait", Reached: wire.Answered}}
		}
		r.Fault.EndBy(cause)
		if r.Fault.Kind == wire.Timeout {
			lookBack(c.line(), r.Fault, came)
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
	now  func() time.Time

	mu sync.Mutex
	// byToken are those that have a progress token, all is all of them.
	byToken map[string]*requestTimers
	all     []*requestTimers
	// held counts what the user is being asked.
	held int
	// caller is the caller of nearly all requests, by the end of its context. It is watched
	// until another caller comes when none of its requests is under way, which n counts.
	caller   <-chan struct{}
	n        int
	unhooked func() bool
	// spare are timers that are used again; none is any more once a request was given up, since
	// that goes on behind the end of the request.
	spare   []*requestTimers
	givesUp bool
}

func newPendingRequests(life context.Context, hard time.Duration, now func() time.Time) *pendingRequests {
	p := &pendingRequests{life: life, hard: hard, now: now, byToken: map[string]*requestTimers{}}
	context.AfterFunc(life, func() {
		p.giveUpAll(transport.ErrClosed, func(*requestTimers) bool { return true })
	})
	return p
}

// came notes m on all of them: for which it came is unknown.
func (p *pendingRequests) came(m transport.Diagnostic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, timers := range p.all {
		timers.came = m
	}
}

// A requestTimers is the pair of timers over one request: one that progress starts
// anew, and one that nothing stops.
type requestTimers struct {
	watched
	mu         sync.Mutex
	idle, hard *time.Timer
	progress
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
	// place is its index among all.
	place int
	// caller is that of pendingRequests, as it is done; nil where the caller is another, which
	// unhook does not watch any more.
	caller <-chan struct{}
	unhook func() bool
}

// A watched is the request that timers watch.
type watched struct {
	token string
	// period is that without progress, most that of the whole request; now is the clock.
	period, most time.Duration
	now          func() time.Time
	// begun and progressed are those of the outgoing message.
	begun      func() bool
	progressed func()
	// end is called at most once, with the first cause to give the request up.
	end func(cause error)
}

// progress is how far a request has come, if it has moved, and when it last did: the timer is not
// set for each of many notifications, but where it fires too early.
type progress struct {
	last  float64
	moved bool
	at    time.Time
}

// start begins to watch a request. end is called once if it is given up.
func (p *pendingRequests) start(ctx context.Context, out *outgoing, idle time.Duration, end func(error)) *requestTimers {
	p.mu.Lock()
	defer p.mu.Unlock()
	timers := p.timers()
	timers.mu.Lock()
	defer timers.mu.Unlock()
	timers.watched = watched{token: string(out.token), period: idle, most: p.hard, now: p.now, begun: out.begun, progressed: out.progressed, end: end}
	if out.patient {
		timers.period, timers.most = 0, 0
	}
	if out.begun != nil {
		timers.most = 0
	}
	timers.place, timers.held = len(p.all), p.held
	p.all = append(p.all, timers)
	if timers.token != "" {
		p.byToken[timers.token] = timers
	}
	if timers.held == 0 {
		timers.arm(timers.period)
	}
	if timers.most > 0 && timers.hard == nil {
		timers.hard = time.AfterFunc(timers.most, timers.hardEnds)
	} else if timers.most > 0 {
		timers.hard.Reset(timers.most)
	}
	p.watch(ctx, timers)
	if p.life.Err() != nil {
		p.giveUpSoon(timers, transport.ErrClosed)
	}
	return timers
}

// timers returns new ones, or some that are used again.
func (p *pendingRequests) timers() *requestTimers {
	last := len(p.spare) - 1
	if last < 0 {
		return &requestTimers{}
	}
	timers := p.spare[last]
	p.spare = p.spare[:last]
	return timers
}

// arm sets the idle timer, if there is to be one.
func (timers *requestTimers) arm(after time.Duration) {
	switch {
	case timers.period <= 0:
	case timers.idle == nil:
		timers.idle = time.AfterFunc(after, timers.idleEnds)
	default:
		timers.idle.Reset(after)
	}
}

func (timers *requestTimers) idleEnds() {
	timers.mu.Lock()
	goesOn := timers.over || timers.held > 0
	if left := timers.period - timers.now().Sub(timers.progress.at); timers.moved && !goesOn && left > 0 {
		goesOn = true
		timers.arm(left)
	}
	timers.mu.Unlock()
	if goesOn || timers.begun != nil && timers.begun() {
		return
	}
	what := "no response"
	if timers.begun != nil {
		what = "no acknowledgement"
	}
	timers.giveUp(transport.TimeoutError{Flag: "--timeout", What: what, After: timers.period})
}

func (timers *requestTimers) hardEnds() {
	timers.giveUp(transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: timers.most})
}

// watch gives a request up when the context of its caller ends.
func (p *pendingRequests) watch(ctx context.Context, timers *requestTimers) {
	done := ctx.Done()
	if done == nil {
		return
	}
	if p.n == 0 && p.caller != done {
		if p.unhooked != nil {
			p.unhooked()
		}
		p.caller = done
		p.unhooked = context.AfterFunc(ctx, func() {
			p.giveUpAll(context.Cause(ctx), func(timers *requestTimers) bool { return timers.caller == done })
		})
	}
	if p.caller != done {
		timers.unhook = context.AfterFunc(ctx, func() {
			p.mu.Lock()
			p.givesUp = true
			p.mu.Unlock()
			timers.giveUp(context.Cause(ctx))
		})
		return
	}
	timers.caller = done
	p.n++
	if ctx.Err() != nil {
		p.giveUpSoon(timers, context.Cause(ctx))
	}
}

// giveUpAll ends those of the requests under way.
func (p *pendingRequests) giveUpAll(cause error, these func(*requestTimers) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, timers := range p.all {
		if these(timers) {
			p.giveUpSoon(timers, cause)
		}
	}
}

// giveUpSoon gives a request up where the mutex is held.
func (p *pendingRequests) giveUpSoon(timers *requestTimers, cause error) {
	p.givesUp = true
	go timers.giveUp(cause)
}

// stop ends the watch, and notes on the reply what was asked meanwhile. From then on nothing is
// cancelled any more, and what is being cancelled has been (basic/utilities/cancellation: only
// requests "believed to be still in-progress").
func (p *pendingRequests) stop(timers *requestTimers, r *reply) (came transport.Diagnostic) {
	p.mu.Lock()
	last := len(p.all) - 1
	p.all[timers.place], p.all[last].place = p.all[last], timers.place
	p.all = slices.Delete(p.all, last, last+1)
	if p.byToken[timers.token] == timers {
		delete(p.byToken, timers.token)
	}
	if timers.caller != nil {
		p.n--
	}
	unhook := timers.unhook
	p.mu.Unlock()
	idle := unhook == nil || unhook()
	timers.mu.Lock()
	timers.over = true
	for _, t := range []*time.Timer{timers.idle, timers.hard} {
		idle = (t == nil || t.Stop()) && idle
	}
	leaving := timers.leaving
	timers.mu.Unlock()
	if leaving != nil {
		<-leaving
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.asked, came = timers.asked, timers.came
	if idle && leaving == nil && !p.givesUp { // nothing else knows of the timers
		*timers = requestTimers{idle: timers.idle, hard: timers.hard}
		p.spare = append(p.spare, timers)
	}
	return came
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
	advanced := func() {}
	if timers != nil && err == nil {
		timers.advance(value)
		if timers.watched.progressed != nil {
			advanced = timers.watched.progressed
		}
	}
	p.mu.Unlock()
	advanced()
	return timers != nil
}

func (timers *requestTimers) advance(value float64) {
	timers.mu.Lock()
	defer timers.mu.Unlock()
	if timers.over || timers.moved && value <= timers.last {
		return
	}
	timers.moved, timers.last, timers.progress.at = true, value, timers.now()
}
