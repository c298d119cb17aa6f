package client

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// limited gives ctx the limit of a timer of mcpc's own, of which some time is spent already.
// One that is not positive is no limit.
func withLimit(
	ctx context.Context, limit transport.TimeoutError, spent time.Duration,
) (context.Context, context.CancelFunc) {
	if limit.After <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit.After-spent, limit)
}

// outgoing is a message and how the session waits for the response.
type outgoing struct {
	transport.Outgoing
	// name is what the request is about, as the name of a tool; often "".
	name string
	// token is the progress token that the message carries, or nil.
	token json.RawMessage
	// lasting forbids to cancel the request.
	lasting bool
	// begun is for a request whose response is the end of what it asks for: its timer runs only until begun reports
	// true. It is nil if the response is what is asked for.
	isAcknowledged func() bool
	// patient is for a request that the server answers when something else is done:
	// it has no timer of its own, and its caller limits the time.
	untimed bool
	// progressed is called with each progress of the request; it may be nil.
	progressed func()
}

// reply is the transport's reply to a message, and what the session knows of the
// exchange.
type reply struct {
	transport.Reply
	// id and name are those of the request.
	id   json.RawMessage
	name string
	// asked is what the server asked on the way and was not answered.
	unanswered *unanswered
}

// failure is the reply to a message that got none.
func failedReply(f *transport.Fault) reply { return reply{Reply: transport.Failed(f)} }

// exchange sends a request and waits for its response. When the server is silent for the time of idle, when the hard
// limit is reached or when the caller's ctx ends, the server is told first, as its era has it, and then the transport
// lets go.
func (c *connection) exchange(ctx context.Context, e era, out *outgoing, idle time.Duration) reply {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c.recordRequest(out, false)
	now := c.s.opt.Now()
	first := c.update(func(f *connectionState) { f.sentAt = now }).sentAt.IsZero()
	if first && idle > 0 && c.transport().Name() == transport.Stdio {
		idle = max(idle, c.s.opt.Limits.Start) // the process starts meanwhile
	}
	pending := c.s.pending.watch(ctx, out, idle, func(cause error) {
		c.recordRequest(out, true)
		if !out.lasting && out.ID != nil && cause != errServerClosed {
			e.cancel(c, out)
		}
		cancel(cause)
	})
	r := reply{Reply: c.transport().Call(inner, &out.Outgoing), id: out.ID, name: out.name}
	pending.stop()
	r.unanswered = pending.unanswered
	if cause := context.Cause(inner); cause != nil {
		// What a server answers to a cancellation is not the answer.
		if r.Fault == nil {
			r.Reply = transport.Reply{HTTP: r.HTTP, Fault: &transport.Fault{Phase: "wait", Reached: wire.Answered}}
		}
		r.Fault.EndBy(cause)
		if r.Fault.Kind == wire.Timeout {
			addDiagnostics(c.transport(), r.Fault, pending.diagnostic)
		}
	}
	return r
}

// noteAsked remembers a request, or that it was given up.
func (c *connection) recordRequest(out *outgoing, givenUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out.ID != nil {
		c.requestIDs.Put(string(out.ID), givenUp)
	}
}

// lookBack says of a request that got no answer in time what the server said instead.
func addDiagnostics(line transport.Transport, f *transport.Fault, m transport.Diagnostic) {
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

// Diagnose notes on all requests under way what may have been meant for one of them.
func (c *connection) Diagnose(m transport.Diagnostic) {
	p := c.s.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.requests {
		r.diagnostic = m
	}
}

// pendingRequests are the requests of a session that are under way.
type pendingRequests struct {
	// life ends when the session is closed, and with it what is under way. hard limits each request.
	lifetime context.Context
	hard     time.Duration

	mu       sync.Mutex
	requests map[*pendingRequest]bool
	// byToken are the requests, and the tasks, that have a progress token.
	byToken map[string]*pendingRequest
	// held counts what the user is being asked. The idle timers run while it is 0.
	held int
}

func newPendingRequests(life context.Context, hard time.Duration) *pendingRequests {
	p := &pendingRequests{lifetime: life, hard: hard, requests: map[*pendingRequest]bool{}, byToken: map[string]*pendingRequest{}}
	context.AfterFunc(life, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for r := range p.requests {
			go r.giveUp(transport.ErrClosed)
		}
	})
	return p
}

// A pendingRequest is a request under way. The fields from isOver on are guarded by the mutex of pendingRequests.
type pendingRequest struct {
	all *pendingRequests
	out *outgoing
	// timer gives the request up when the server is silent for the time of idle, hard when it takes longer than allowed;
	// each is nil if there is no limit.
	timer, hard *time.Timer
	idle        time.Duration
	// end is called at most once, with the first cause to give the request up.
	end func(cause error)
	// unhook forgets the context of the caller, whose end gives the request up.
	stopAfterFunc func() bool

	// isOver is set when the request has ended or is being given up, leaving if it is being given up; that is closed
	// when it is done.
	isOver     bool
	cancelDone chan struct{}
	// reached is how far the request has come, by its notifications of progress.
	progress float64
	// asked is the first server request that was not answered, latest the latest message that may
	// have been meant for the response. The caller of stop may read them.
	unanswered *unanswered
	diagnostic transport.Diagnostic
}

// start begins to watch a request. end is called once if it is given up: when ctx ends, when the session is closed, or
// when the server is silent for the time of idle.
func (p *pendingRequests) watch(
	ctx context.Context, out *outgoing, idle time.Duration, end func(error),
) *pendingRequest {
	r := &pendingRequest{all: p, out: out, idle: idle, end: end, progress: math.Inf(-1)}
	if p.hard > 0 && !out.untimed && out.isAcknowledged == nil {
		r.hard = time.AfterFunc(p.hard, func() {
			r.giveUp(transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: p.hard})
		})
	}
	p.mu.Lock()
	p.requests[r] = true
	if out.token != nil {
		p.byToken[string(out.token)] = r
	}
	if idle > 0 && !out.untimed {
		r.timer = time.AfterFunc(idle, r.onIdle)
		if p.held > 0 {
			r.timer.Stop()
		}
	}
	p.mu.Unlock()
	r.stopAfterFunc = context.AfterFunc(ctx, func() { r.giveUp(context.Cause(ctx)) })
	if p.lifetime.Err() != nil {
		go r.giveUp(transport.ErrClosed)
	}
	return r
}

func (r *pendingRequest) onIdle() {
	r.all.mu.Lock()
	isHeld := r.all.held > 0
	r.all.mu.Unlock()
	if isHeld || r.out.isAcknowledged != nil && r.out.isAcknowledged() {
		return
	}
	what := "no response"
	if r.out.isAcknowledged != nil {
		what = "no acknowledgement"
	}
	r.giveUp(transport.TimeoutError{Flag: "--timeout", What: what, After: r.idle})
}

func (r *pendingRequest) giveUp(cause error) {
	r.all.mu.Lock()
	isFirst := !r.isOver
	if isFirst {
		r.isOver = true
		r.cancelDone = make(chan struct{})
	}
	r.all.mu.Unlock()
	if isFirst {
		r.end(cause)
		close(r.cancelDone)
	}
}

// stop ends the watch. From then on nothing is cancelled any more, and what is being cancelled has been
// (basic/utilities/cancellation: only requests "believed to be still in-progress").
func (r *pendingRequest) stop() {
	r.stopAfterFunc()
	for _, timer := range []*time.Timer{r.timer, r.hard} {
		if timer != nil {
			timer.Stop()
		}
	}
	p := r.all
	p.mu.Lock()
	delete(p.requests, r)
	p.forgetTokenLocked(r)
	r.isOver = true
	leaving := r.cancelDone
	p.mu.Unlock()
	if leaving != nil {
		<-leaving
	}
}

// forgetLocked forgets the progress token of a request.
func (p *pendingRequests) forgetTokenLocked(r *pendingRequest) {
	if token := string(r.out.token); p.byToken[token] == r {
		delete(p.byToken, token)
	}
}

// follow keeps a progress token known that outlives its request.
func (p *pendingRequests) keepToken(token json.RawMessage) (forget func()) {
	if token == nil {
		return func() {}
	}
	r := &pendingRequest{all: p, out: &outgoing{token: token}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.byToken[string(token)] = r
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forgetTokenLocked(r)
	}
}

// progressed starts the idle timer of a request again. Only progress of an open
// request that goes forward counts (basic/utilities/progress): a server must not
// be able to keep a client waiting by repeating itself. It reports whether the
// progress is that of an open request.
func (p *pendingRequests) noteProgress(m *wire.Message) (isOurs bool) {
	params, _ := m.ParamMembers()
	value, err := strconv.ParseFloat(string(params.Value("progress")), 64)
	p.mu.Lock()
	r := p.byToken[string(params.Value("progressToken"))]
	advances := r != nil && err == nil && value > r.progress
	if advances && !r.isOver && r.timer != nil && p.held == 0 {
		r.timer.Reset(r.idle)
	}
	if advances {
		r.progress = value
	}
	p.mu.Unlock()
	if r != nil && err == nil && r.out.progressed != nil {
		r.out.progressed()
	}
	return r != nil
}

// Hold stops the clocks that measure a server's silence while it waits for an
// answer itself.
func (p *pendingRequests) Hold() { p.addHolds(1) }

// Release starts them again.
func (p *pendingRequests) Release() { p.addHolds(-1) }

func (p *pendingRequests) addHolds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held += n
	for r := range p.requests {
		switch {
		case r.isOver || r.timer == nil:
		case p.held == 0:
			r.timer.Reset(r.idle)
		default:
			r.timer.Stop()
		}
	}
}
