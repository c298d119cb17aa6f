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

// withLimit returns ctx with the time limit, which spent has partly used. A limit of zero or less
// is no limit.
func withLimit(
	ctx context.Context, limit transport.TimeoutError, spent time.Duration,
) (context.Context, context.CancelFunc) {
	if limit.After <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit.After-spent, limit)
}

// An outgoing is a message, and how the session waits for its response.
type outgoing struct {
	transport.Outgoing
	// name is the subject of the request, such as the name of a tool, or "".
	name string
	// token is the progress token of the message, or nil.
	token json.RawMessage
	// mustNotCancel forbids to cancel the request.
	mustNotCancel bool
	// isAcknowledged is set for subscriptions/listen, whose response ends the subscription: the
	// idle timer has no effect once isAcknowledged reports true. Other requests have nil.
	isAcknowledged func() bool
	// hasNoTimers is set for a request whose response may take long, such as tasks/result: it has no
	// timers, and the caller limits the time.
	hasNoTimers bool
	// onProgress is called for each progress notification of the request; it may be nil.
	onProgress func()
}

// A reply is the transport's reply to a message, and what the session knows about the exchange.
type reply struct {
	transport.Reply
	// id and name belong to the request.
	id   json.RawMessage
	name string
	// unansweredRequest is the first request from the server during the exchange that got no answer,
	// or nil.
	unanswered *unansweredRequest
}

// failedReply returns the reply for a message that got no response because of f.
func failedReply(f *transport.Fault) reply { return reply{Reply: transport.Failed(f)} }

// exchange sends a request and waits for its response. If the server is silent for the time of
// idle, the hard limit is reached or ctx ends, exchange first cancels the request at the server, as
// the era requires, and then ends the wait.
func (c *connection) exchange(ctx context.Context, e era, out *outgoing, idle time.Duration) reply {
	// The end of ctx must not end the call before the request is cancelled at the server.
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	const givenUp = true
	c.recordRequest(out, !givenUp)
	now := c.s.opt.Now()
	before := c.update(func(f *connectionState) { f.sentAt = now })
	isFirst := before.sentAt.IsZero()
	if isFirst && idle > 0 && c.transport().Name() == transport.Stdio {
		idle = max(idle, c.s.opt.Limits.Start) // the process may still be starting
	}
	pending := c.s.pending.watch(ctx, out, idle, func(cause error) {
		c.recordRequest(out, givenUp)
		if !out.mustNotCancel && out.ID != nil && cause != errServerClosed { // else the server has cancelled it
			e.cancel(c, out)
		}
		cancel(cause)
	})
	r := reply{Reply: c.transport().Call(inner, &out.Outgoing), id: out.ID, name: out.name}
	pending.stop()
	r.unanswered = pending.unanswered
	if cause := context.Cause(inner); cause != nil {
		// A response to a cancelled request does not count.
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

// recordRequest stores the id of a request, and whether it was given up.
func (c *connection) recordRequest(out *outgoing, givenUp bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if out.ID != nil {
		c.requestIDs.Put(string(out.ID), givenUp)
	}
}

// addDiagnostics adds to f, the fault of a request without a response, what the server sent instead:
// its standard error, and m or, if m is empty, an unfinished line.
func addDiagnostics(opened transport.Transport, f *transport.Fault, m transport.Diagnostic) {
	if child, ok := opened.(transport.StderrSource); ok {
		f.Process = child.StderrTail()
	}
	if pipe, ok := opened.(interface{ Pending() transport.Diagnostic }); ok && m.Text == "" {
		m = pipe.Pending()
	}
	if m.Text != "" {
		f.Text += "; " + m.Text
	}
	if m.Hint != "" {
		f.Hint = m.Hint
	}
}

// Diagnose stores m in each pending request, because m may be meant for any of them.
func (c *connection) Diagnose(m transport.Diagnostic) {
	p := c.s.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.requests {
		r.diagnostic = m
	}
}

// pendingRequests are the requests of a session that wait for a response.
type pendingRequests struct {
	// lifetime ends when the session is closed, and gives up all requests.
	lifetime context.Context
	limits   Limits

	mu       sync.Mutex
	requests map[*pendingRequest]bool
	// byToken has the requests and tasks with a progress token.
	byToken map[string]*pendingRequest
	// holds counts the requests for input that the user is answering. The idle timers run while it
	// is 0.
	holds int
}

// newPendingRequests returns an empty set of requests. The end of lifetime gives up all requests that
// are added later.
func newPendingRequests(lifetime context.Context, limits Limits) *pendingRequests {
	p := &pendingRequests{
		lifetime: lifetime,
		limits:   limits,
		requests: map[*pendingRequest]bool{},
		byToken:  map[string]*pendingRequest{},
	}
	context.AfterFunc(lifetime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for r := range p.requests {
			go r.giveUp(transport.ErrClosed) // giveUp takes the mutex
		}
	})
	return p
}

// A pendingRequest is a request that waits for its response. The mutex of pendingRequests guards
// the fields from isOver on.
type pendingRequest struct {
	all *pendingRequests
	out *outgoing
	// timer gives the request up after idle without a sign of progress, hard after the hard limit.
	// Each is nil if there is no limit.
	timer, hard *time.Timer
	idle        time.Duration
	// onGiveUp is called at most once, with the reason why the request is given up.
	onGiveUp func(cause error)
	// stopAfterFunc ends the watch on the caller's context.
	stopAfterFunc func() bool

	// isOver is set when the request has ended or is being given up. cancelDone is not nil if
	// the request is being given up, and closed when that is done.
	isOver     bool
	cancelDone chan struct{}
	// progress is the value of the latest progress notification.
	progress float64
	// unansweredRequest is the first request from the server that got no answer. diagnostic is the
	// latest message that may be meant for this request. The caller of stop may read both.
	unanswered *unansweredRequest
	diagnostic transport.Diagnostic
}

// watch starts the timers of a request. It calls onGiveUp once if the request is given up: when ctx or
// the session ends, or at a time limit. The caller must call stop.
func (p *pendingRequests) watch(
	ctx context.Context, out *outgoing, idle time.Duration, onGiveUp func(cause error),
) *pendingRequest {
	// Any first progress value is an advance.
	r := &pendingRequest{all: p, out: out, idle: idle, onGiveUp: onGiveUp, progress: math.Inf(-1)}
	if hard := p.limits.Hard; hard > 0 && !out.hasNoTimers && out.isAcknowledged == nil {
		r.hard = time.AfterFunc(hard, func() {
			r.giveUp(transport.TimeoutError{Flag: "--max-time", What: "the call did not end", After: hard})
		})
	}
	p.mu.Lock()
	p.requests[r] = true
	if out.token != nil {
		p.byToken[string(out.token)] = r
	}
	if idle > 0 && !out.hasNoTimers {
		r.timer = time.AfterFunc(idle, r.onIdle)
		if p.holds > 0 {
			r.timer.Stop()
		}
	}
	p.mu.Unlock()
	r.stopAfterFunc = context.AfterFunc(ctx, func() { r.giveUp(context.Cause(ctx)) })
	if p.lifetime.Err() != nil { // the session may have ended before r was in p.requests
		go r.giveUp(transport.ErrClosed)
	}
	return r
}

// onIdle gives up the request at the end of its idle timer, unless the user is being asked or the
// subscription is acknowledged.
func (r *pendingRequest) onIdle() {
	r.all.mu.Lock()
	isHeld := r.all.holds > 0
	r.all.mu.Unlock()
	if isHeld || r.out.isAcknowledged != nil && r.out.isAcknowledged() {
		return
	}
	what := "no response"
	if r.out.isAcknowledged != nil {
		what = "no acknowledgement"
	}
	r.giveUp(r.all.limits.idleTimeout(what, r.idle))
}

// giveUp calls onGiveUp with the cause, at most once and not after the request is over.
func (r *pendingRequest) giveUp(cause error) {
	r.all.mu.Lock()
	isFirst := !r.isOver
	if isFirst {
		r.isOver = true
		r.cancelDone = make(chan struct{})
	}
	r.all.mu.Unlock()
	if isFirst {
		r.onGiveUp(cause)
		close(r.cancelDone)
	}
}

// stop ends the watch. It waits for a running onGiveUp; afterwards the request is not cancelled any more
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

// forgetTokenLocked removes the progress token of a request.
func (p *pendingRequests) forgetTokenLocked(r *pendingRequest) {
	if token := string(r.out.token); p.byToken[token] == r {
		delete(p.byToken, token)
	}
}

// keepToken accepts progress for a token whose request has ended, as for a task, until forget is
// called.
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

// noteProgress restarts the idle timer of the request that m belongs to, if the progress value
// increases (basic/utilities/progress): repeated values must not extend the wait. It reports
// whether m belongs to a pending request or a task.
func (p *pendingRequests) noteProgress(m *wire.Message) bool {
	params, _ := m.ParamMembers()
	value, err := strconv.ParseFloat(string(params.Value("progress")), 64)
	p.mu.Lock()
	r := p.byToken[string(params.Value("progressToken"))]
	advances := r != nil && err == nil && value > r.progress
	if advances && !r.isOver && r.timer != nil && p.holds == 0 {
		r.timer.Reset(r.idle)
	}
	if advances {
		r.progress = value
	}
	p.mu.Unlock()
	if r != nil && err == nil && r.out.onProgress != nil {
		r.out.onProgress()
	}
	return r != nil
}

// Hold pauses the idle timers while the server itself waits for an answer.
func (p *pendingRequests) Hold() { p.addHolds(1) }

// Release undoes one Hold.
func (p *pendingRequests) Release() { p.addHolds(-1) }

// addHolds changes the number of holds by n, and stops or restarts the idle timers.
func (p *pendingRequests) addHolds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holds += n
	for r := range p.requests {
		if r.isOver || r.timer == nil {
			continue
		}
		if p.holds == 0 {
			r.timer.Reset(r.idle)
		} else {
			r.timer.Stop()
		}
	}
}
