package client

import (
	"context"
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

// exchange sends a request and waits under the session's timers. When a timer or
// the caller's ctx ends the wait, the server is told first, as its era has it, and
// then the transport lets go.
func (t *talk) exchange(ctx context.Context, e era, out *outgoing, idle time.Duration) reply {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	t.noteAsked(out, false)
	now := t.s.opt.Now()
	t.update(func(f *facts) { f.sent = now })
	w := t.s.startWatch(out, idle, func(cause error) {
		t.noteAsked(out, true)
		if !out.lasting && out.id != nil && cause != errServerEnds {
			e.cancel(t, out)
		}
		cancel(cause)
	})
	unhook := context.AfterFunc(ctx, func() { w.giveUp(context.Cause(ctx)) })
	r := t.line().call(inner, out)
	unhook()
	t.s.stopWatch(w)
	r.id, r.asked = out.id, w.asked
	if cause := context.Cause(inner); cause != nil {
		// What a server answers to a cancellation is not the answer.
		if r.fault == nil {
			r = reply{id: r.id, http: r.http, asked: r.asked, fault: &fault{phase: "wait", reached: wire.Answered}}
		}
		r.fault.endBy(cause)
		if r.fault.kind == wire.Timeout {
			t.lookBack(r.fault, w.came)
		}
	}
	return r
}

// lookBack says of a request that got no answer in time what the server said instead.
func (t *talk) lookBack(f *fault, m meanwhile) {
	if child, ok := t.line().(witness); ok {
		f.process = child.lastWords()
	}
	if pipe, ok := t.line().(interface{ pending() meanwhile }); ok && m.text == "" {
		m = pipe.pending()
	}
	if m.text != "" {
		f.text += "; " + m.text
	}
	if m.hint != "" {
		f.hint = m.hint
	}
}

// came notes m on all requests under way: for which of them it came is unknown.
func (t *talk) came(m meanwhile) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for w := range t.s.underWay {
		w.came = m
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
	// have been meant for the answer. They are guarded by the session's mutex.
	asked *unanswered
	came  meanwhile
}

func (s *Session) startWatch(out *outgoing, idle time.Duration, end func(error)) *watch {
	w := &watch{token: string(out.token), period: idle, end: end}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	what := "no response"
	if out.begun != nil {
		what = "no acknowledgement"
	}
	hard := s.opt.Limits.Hard
	if out.patient {
		idle, hard = 0, 0
	}
	if idle > 0 {
		w.idle = time.AfterFunc(idle, func() {
			if out.begun == nil || !out.begun() {
				w.giveUp(timeoutError{"--timeout", what, idle})
			}
		})
	}
	if hard > 0 && out.begun == nil {
		w.hard = time.AfterFunc(hard, func() { w.giveUp(timeoutError{"--max-time", "the call did not end", hard}) })
	}
	s.underWay[w] = true
	if w.token != "" {
		s.watches[w.token] = w
	}
	if w.held = s.held; w.held > 0 && w.idle != nil {
		w.idle.Stop()
	}
	if s.life.Err() != nil {
		go w.giveUp(errClosed)
	}
	return w
}

// giveUpAll ends what is under way when the session is closed.
func (s *Session) giveUpAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.underWay {
		go w.giveUp(errClosed)
	}
}

// stopWatch ends the watch. From then on nothing is cancelled any more, and
// what is being cancelled has been (basic/utilities/cancellation: only requests
// "believed to be still in-progress").
func (s *Session) stopWatch(w *watch) {
	s.mu.Lock()
	delete(s.underWay, w)
	if s.watches[w.token] == w {
		delete(s.watches, w.token)
	}
	s.mu.Unlock()
	w.mu.Lock()
	w.over = true
	for _, t := range []*time.Timer{w.idle, w.hard} {
		if t != nil {
			t.Stop()
		}
	}
	leaving := w.leaving
	w.mu.Unlock()
	if leaving != nil {
		<-leaving
	}
}

func (w *watch) giveUp(cause error) {
	w.mu.Lock()
	first := !w.over
	if first {
		w.over, w.leaving = true, make(chan struct{})
	}
	w.mu.Unlock()
	if first {
		w.end(cause)
		close(w.leaving)
	}
}

// progressed starts the idle timer of a request anew. Only progress of an open
// request that goes forward counts (basic/utilities/progress): a server must not
// be able to keep a client waiting by repeating itself. It reports whether the
// progress is that of an open request.
func (s *Session) progressed(m *wire.Message) (ours bool) {
	params, _ := m.ParamMembers()
	token, _ := params.Get("progressToken")
	raw, _ := params.Get("progress")
	value, err := strconv.ParseFloat(string(raw), 64)
	s.mu.Lock()
	w := s.watches[string(token)]
	s.mu.Unlock()
	if w != nil && err == nil {
		w.advance(value)
	}
	return w != nil
}

func (w *watch) advance(value float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.moved && value <= w.last {
		return
	}
	w.moved, w.last = true, value
	if w.idle != nil && w.held == 0 {
		w.idle.Reset(w.period)
	}
}
