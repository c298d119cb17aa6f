package client

import (
	"context"
	"encoding/json"
	"sync"

	"mcpc/internal/wire"
)

// A router gives the messages of one shared line to those who wait for them.
// Over stdio and over HTTP+SSE all answers come on one line, in any order.
type router struct {
	mu      sync.Mutex
	waiting map[string]*waiter
	inbox   inbox
	ended   *fault // why nothing can come any more
	done    chan struct{}
}

type waiter struct {
	id       json.RawMessage
	anyReply bool
	answer   chan *wire.Message
}

func newRouter(in inbox) *router {
	return &router{waiting: map[string]*waiter{}, inbox: in, done: make(chan struct{})}
}

// expect announces a request before it is sent, so that no answer is too quick.
func (r *router) expect(out *outgoing) *waiter {
	w := &waiter{id: out.id, anyReply: out.anyReply, answer: make(chan *wire.Message, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[string(out.id)] = w
	return w
}

func (r *router) forget(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[string(w.id)] == w {
		delete(r.waiting, string(w.id))
	}
}

// wait blocks until the answer is there, the line has ended, or ctx is done.
func (r *router) wait(ctx context.Context, w *waiter) reply {
	select {
	case m := <-w.answer:
		return reply{message: m}
	case <-ctx.Done():
		return failed(cutFault(ctx, 0, ctx.Err()))
	case <-r.done:
	}
	// The answer may have come just before the end.
	select {
	case m := <-w.answer:
		return reply{message: m}
	default:
		f := *r.ended
		f.reached = wire.Unknown
		return failed(&f)
	}
}

// deliver hands a message to its waiter, or to the inbox.
func (r *router) deliver(m *wire.Message) {
	if m.Kind == wire.Batch {
		for _, item := range m.Items {
			r.deliver(item)
		}
		return
	}
	if w := r.waiterFor(m); w != nil {
		w.answer <- m
		return
	}
	r.inbox(m)
}

// waiterFor finds and takes the one who waits for m. An error that names no id
// can only belong to the one request that is open.
func (r *router) waiterFor(m *wire.Message) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, w := range r.waiting {
		only := len(r.waiting) == 1
		if m.Answers(w.id) || only && m.Kind == wire.ErrorResponse && noID(m) || w.anyReply && m.Kind != wire.Notification {
			delete(r.waiting, key)
			return w
		}
	}
	return nil
}

// end says that nothing can come any more, and why. The first reason stays.
func (r *router) end(f *fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = f
		close(r.done)
	}
}

func (r *router) isEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
