package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A timeoutError is the cause of a context that a timer of mcpc's own ended.
type timeoutError struct {
	flag  string
	what  string
	after time.Duration
}

// errClosed is the cause of a context that closing the session ended.
var errClosed = errors.New("the session was closed")

func (e timeoutError) Error() string { return fmt.Sprintf("%s within %s", e.what, e.after) }

// limited gives ctx the limit of a timer of mcpc's own, of which some time is spent already.
// One that is not positive is no limit.
func limited(ctx context.Context, limit timeoutError, spent time.Duration) (context.Context, context.CancelFunc) {
	if limit.after <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit.after-spent, limit)
}

// outgoing is a message and how the session waits for the response.
type outgoing struct {
	Outgoing
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
}

// reply is the transport's reply to a message, and what the session knows of the
// exchange.
type reply struct {
	Reply
	// id is that of the request.
	id json.RawMessage
	// asked is what the server asked on the way and was not answered.
	asked *unanswered
}

// failure is the reply to a message that got none.
func failure(f *fault) reply { return reply{Reply: failed(f)} }

// exchange sends a request and waits under the session's timers. When a timer or
// the caller's ctx ends the wait, the server is told first, as its era has it, and
// then the transport lets go.
func (c *talk) exchange(ctx context.Context, e era, out *outgoing, idle time.Duration) reply {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c.noteAsked(out, false)
	now := c.s.opt.Now()
	c.update(func(f *facts) { f.sent = now })
	timers := c.s.open.start(out, idle, func(cause error) {
		c.noteAsked(out, true)
		if !out.lasting && out.id != nil && cause != errServerEnds {
			e.cancel(c, out)
		}
		cancel(cause)
	})
	unhook := context.AfterFunc(ctx, func() { timers.giveUp(context.Cause(ctx)) })
	r := reply{Reply: c.line().call(inner, &out.Outgoing), id: out.id}
	unhook()
	c.s.open.stop(timers)
	r.asked = timers.asked
	if cause := context.Cause(inner); cause != nil {
		// What a server answers to a cancellation is not the answer.
		if r.fault == nil {
			r.Reply = Reply{http: r.http, fault: &fault{phase: "wait", reached: wire.Answered}}
		}
		r.fault.endBy(cause)
		if r.fault.kind == wire.Timeout {
			lookBack(c.line(), r.fault, timers.came)
		}
	}
	return r
}

// lookBack says of a request that got no answer in time what the server said instead.
func lookBack(line transport, f *fault, m meanwhile) {
	if child, ok := line.(witness); ok {
		f.process = child.lastWords()
	}
	if pipe, ok := line.(interface{ Pending() meanwhile }); ok && m.text == "" {
		m = pipe.Pending()
	}
	if m.text != "" {
		f.text += "; " + m.text
	}
	if m.hint != "" {
		f.hint = m.hint
	}
}

// came takes what may have been meant for one of the requests under way.
func (c *talk) came(m meanwhile) {
	c.s.open.came(m)
}

// openRequests are the requests of a session that are under way, each with its timers.
type openRequests struct {
	// life ends when the session is closed, and with it what is under way. hard bounds
	// each request.
	life context.Context
	hard time.Duration

	mu sync.Mutex
	// byToken are those that have a progress token, all is all of them.
	byToken map[string]*watch
	all     map[*watch]bool
	// held counts what the user is being asked.
	held int
}

func newOpenRequests(life context.Context, hard time.Duration) *openRequests {
	p := &openRequests{life: life, hard: hard, byToken: map[string]*watch{}, all: map[*watch]bool{}}
	context.AfterFunc(life, p.giveUpAll)
	return p
}

// came notes m on all of them: for which it came is unknown.
func (p *openRequests) came(m meanwhile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for timers := range p.all {
		timers.came = m
	}
}

// A watch is the pair of timers over one request: one that progress starts
// anew, and one that nothing stops.
type watch struct {
	token  string
	period time.Duration
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
	// have been meant for the answer. They are guarded by the mutex of openRequests.
	asked *unanswered
	came  meanwhile
}

// start begins to watch a request. end is called once if it is given up.
func (p *openRequests) start(out *outgoing, idle time.Duration, end func(error)) *watch {
	timers := &watch{token: string(out.token), period: idle, end: end}
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
				timers.giveUp(timeoutError{"--timeout", what, idle})
			}
		})
	}
	if hard > 0 && out.begun == nil {
		timers.hard = time.AfterFunc(hard, func() { timers.giveUp(timeoutError{"--max-time", "the call did not end", hard}) })
	}
	p.all[timers] = true
	if timers.token != "" {
		p.byToken[timers.token] = timers
	}
	if timers.held = p.held; timers.held > 0 && timers.idle != nil {
		timers.idle.Stop()
	}
	if p.life.Err() != nil {
		go timers.giveUp(errClosed)
	}
	return timers
}

// giveUpAll ends what is under way when the session is closed.
func (p *openRequests) giveUpAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for timers := range p.all {
		go timers.giveUp(errClosed)
	}
}

// stop ends the watch. From then on nothing is cancelled any more, and
// what is being cancelled has been (basic/utilities/cancellation: only requests
// "believed to be still in-progress").
func (p *openRequests) stop(timers *watch) {
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

func (timers *watch) giveUp(cause error) {
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
func (p *openRequests) progressed(m *wire.Message) (ours bool) {
	params, _ := m.ParamMembers()
	token, _ := params.Get("progressToken")
	raw, _ := params.Get("progress")
	value, err := strconv.ParseFloat(string(raw), 64)
	p.mu.Lock()
	timers := p.byToken[string(token)]
	p.mu.Unlock()
	if timers != nil && err == nil {
		timers.advance(value)
	}
	return timers != nil
}

func (timers *watch) advance(value float64) {
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
