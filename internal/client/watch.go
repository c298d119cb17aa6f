package client

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A timeoutError is the cause of a context that a timer of mcpc's own ended.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e timeoutError) Error() string { return fmt.Sprintf("%s within %s", e.what, e.after) }

// A watch is the pair of timers over one request: one that progress starts
// anew, and one that nothing stops.
type watch struct {
	mu         sync.Mutex
	idle, hard *time.Timer
	period     time.Duration
	last       float64
	moved      bool
}

// exchange sends a request and waits under the session's timers. Whoever stops
// waiting, a timer or the caller's ctx, the server is told first, as its era
// has it, and then the transport lets go.
func (s *Session) exchange(ctx context.Context, out *outgoing, idle time.Duration) reply {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	var once sync.Once
	giveUp := func(cause error) {
		once.Do(func() {
			if e := s.era(); e != nil {
				e.cancel(s, out)
			}
			cancel(cause)
		})
	}
	w := s.startWatch(out, idle, giveUp)
	defer s.stopWatch(out, w)
	stop := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx)) })
	defer stop()
	r := s.line().call(inner, out)
	if cause := context.Cause(inner); cause != nil && r.fault != nil {
		r.fault.kind, r.fault.text = endedBy(cause)
	}
	return r
}

// endedBy names the ending of a request that was given up.
func endedBy(cause error) (wire.Kind, string) {
	if t, ok := cause.(timeoutError); ok {
		return wire.Timeout, t.Error()
	}
	return wire.Signal, "interrupted"
}

func (s *Session) startWatch(out *outgoing, idle time.Duration, giveUp func(error)) *watch {
	w := &watch{period: idle}
	if idle > 0 {
		w.idle = time.AfterFunc(idle, func() { giveUp(timeoutError{"no answer", idle}) })
	}
	if hard := s.opt.Limits.Hard; hard > 0 {
		w.hard = time.AfterFunc(hard, func() { giveUp(timeoutError{"no end of the answer", hard}) })
	}
	if out.id != nil {
		s.mu.Lock()
		s.waits[string(out.id)] = w
		s.mu.Unlock()
	}
	return w
}

func (s *Session) stopWatch(out *outgoing, w *watch) {
	for _, t := range []*time.Timer{w.idle, w.hard} {
		if t != nil {
			t.Stop()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, string(out.id))
}

// progressed starts the idle timer of a request anew. Only progress of an open
// request that goes forward counts (basic/utilities/progress): a server must not
// be able to keep a client waiting by repeating itself.
func (s *Session) progressed(m *wire.Message) {
	params, err := wire.Object(m.Params)
	if err != nil {
		return
	}
	token, _ := params.Get("progressToken")
	raw, _ := params.Get("progress")
	value, bad := strconv.ParseFloat(string(raw), 64)
	s.mu.Lock()
	w := s.waits[string(token)]
	s.mu.Unlock()
	if w == nil || bad != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved && value <= w.last {
		return
	}
	w.moved, w.last = true, value
	if w.idle != nil {
		w.idle.Reset(w.period)
	}
}
