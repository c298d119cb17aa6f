package transport

import (
	"context"
	"fmt"
	"sync"

	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A router gives the messages of one shared line to the requests that wait for them.
// Over stdio and over HTTP+SSE all answers come on one line, in any order.
type router struct {
	inbox Inbox
	// whole is set if a message that ends too early is not continued.
	whole bool
	// done is closed when nothing can come any more; ended says why.
	done  chan struct{}
	ended *Fault

	// noiseLine is the first line since the last answer that was no message; nil where there
	// is none. Only the delivering goroutine uses it.
	noiseLine []byte

	mu      sync.Mutex
	waiting map[string]*waiter
}

// A waiter waits for one response. Only the goroutine that takes it out of the
// router's map may fill answer.
type waiter struct {
	out    *Outgoing
	answer chan Reply
}

func newRouter(in Inbox) *router {
	return &router{waiting: map[string]*waiter{}, inbox: in, done: make(chan struct{})}
}

// expect announces a request before it is sent, so that no answer is too quick.
func (r *router) expect(out *Outgoing) *waiter {
	w := &waiter{out: out, answer: make(chan Reply, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[string(out.ID)] = w
	return w
}

func (r *router) forget(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(w)
}

func (r *router) dropLocked(w *waiter) {
	if r.waiting[string(w.out.ID)] == w {
		delete(r.waiting, string(w.out.ID))
	}
}

// wait blocks until the answer is there, the line has ended, or ctx is done.
func (r *router) wait(ctx context.Context, w *waiter) Reply {
	select {
	case answer := <-w.answer:
		return answer
	case <-ctx.Done():
		return Failed(cutFault(ctx, 0, ctx.Err()))
	case <-r.done:
	}
	// The answer may have come just before the end.
	select {
	case answer := <-w.answer:
		return answer
	default:
		return r.overFault(wire.Unknown)
	}
}

// deliver hands a message to its waiter, or to the inbox.
func (r *router) deliver(m *wire.Message) {
	switch w := r.waiterFor(m); {
	case w != nil:
		w.answer <- r.replyTo(w, m)
	case m.Kind == wire.Batch:
		r.deliverItems(m)
	case r.takesOtherID(m):
	case m.Kind == wire.ErrorResponse && NoID(m) && r.ambiguous(m):
	default:
		r.inbox.Receive(m)
	}
}

// ignore keeps the first line or event since the last answer that is not a message.
func (r *router) ignore(noise []byte) {
	if r.noiseLine == nil {
		r.noiseLine = noise
	}
}

// replyTo returns the reply with m and the noise before it. The responses that open a
// conversation leave the noise to the next one, since an opening may fail and be tried again.
func (r *router) replyTo(w *waiter, m *wire.Message) Reply {
	answer := Reply{Message: m, Noise: r.noiseLine}
	if response, odd := plainResponse(m, w.out); response != nil {
		answer.Message = response
		answer.Odd = odd
	}
	if !mcp.IsOpening(w.out.Method) {
		r.noiseLine = nil
	}
	return answer
}

// deliverItems takes an array apart. One that answers no request is left whole.
func (r *router) deliverItems(m *wire.Message) {
	var rest []*wire.Message
	for _, item := range m.Items {
		if w := r.waiterFor(item); w != nil {
			w.answer <- r.replyTo(w, item)
		} else {
			rest = append(rest, item)
		}
	}
	if len(rest) == len(m.Items) {
		rest = []*wire.Message{m}
	}
	for _, item := range rest {
		r.inbox.Receive(item)
	}
}

// waiterFor finds and takes the waiter for m: by its id, or because m can belong
// to no other; nil where there is none. An array that holds an answer which may not stand in
// one is the answer as a whole: if it has more messages, a wrong one.
func (r *router) waiterFor(m *wire.Message) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiting[string(m.ID)]; w != nil && m.Answers(w.out.ID) {
		r.dropLocked(w)
		return w
	}
	for _, fits := range []func(*Outgoing) bool{
		func(out *Outgoing) bool {
			return m.Answers(out.ID) || claims(m, out.ID, r.whole) || !out.Batches && holds(m, out.ID)
		},
		func(*Outgoing) bool { return len(r.waiting) == 1 && m.Kind == wire.ErrorResponse && NoID(m) },
		func(out *Outgoing) bool {
			return out.AnyReply && m.Kind != wire.Notification && m.Kind != wire.Request
		},
	} {
		for _, w := range r.waiting {
			if fits(w.out) {
				r.dropLocked(w)
				return w
			}
		}
	}
	return nil
}

// takesOtherID gives a response to the request that has its id in another type, "7" for 7: no better response will
// come. It reports whether there is such a request.
func (r *router) takesOtherID(m *wire.Message) bool {
	if !isReply(m) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		if response, _ := plainResponse(m, w.out); response != nil {
			r.dropLocked(w)
			w.answer <- r.replyTo(w, m)
			return true
		}
	}
	return false
}

// ambiguous ends all open requests on an error that names none of them: which one
// it is for is unknown, and that one will not be answered.
func (r *router) ambiguous(m *wire.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.waiting)
	for _, w := range r.waiting {
		r.dropLocked(w)
		w.answer <- Failed(badContent(fmt.Sprintf("received an error that matches none of %d open requests: %s", n, m.Error.Message), m.Raw))
	}
	return n > 0
}

// isWaiting reports whether a request is under way that fits.
func (r *router) isWaiting(fits func(*Outgoing) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiting {
		if fits(w.out) {
			return true
		}
	}
	return false
}

// over says that nothing can come any more, and why. The first reason stays.
func (r *router) over(f *Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = f
		close(r.done)
	}
}

// Gone is closed when nothing can come any more.
func (r *router) Gone() <-chan struct{} { return r.done }

// overFault is why the line ended, for one request. It is good after done.
func (r *router) overFault(reached wire.Reached) Reply {
	f := *r.ended
	f.Reached = reached
	if reached == wire.Unsent {
		f.Phase = "send" // no answer to it was awaited
	}
	return Failed(&f)
}
