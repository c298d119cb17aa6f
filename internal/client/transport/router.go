package transport

import (
	"context"
	"fmt"
	"sync"

	"mcpc/internal/mcp"
	"mcpc/internal/wire"
)

// A router gives each message of a shared connection to the request that waits for it. Over stdio
// and HTTP+SSE all responses arrive on one connection, in any order.
type router struct {
	inbox Inbox
	// hasWholeMessages is set if a message that ends too early is never continued by the next one.
	hasWholeMessages bool
	// done is closed when no message can arrive any more. endReason is the reason, which may be read
	// after that.
	done      chan struct{}
	endReason *Fault

	// noiseLine is the first line since the last response that is not a message, or nil. Only the
	// delivering goroutine uses it.
	noiseLine []byte

	mu      sync.Mutex
	waiters map[string]*waiter
}

// A waiter waits for one response. Only the goroutine that removes it from the router's map may send
// to answer.
type waiter struct {
	out    *Outgoing
	answer chan Reply
}

// newRouter returns a router that gives all other messages to in.
func newRouter(in Inbox) *router {
	return &router{waiters: map[string]*waiter{}, inbox: in, done: make(chan struct{})}
}

// register registers a request before it is sent, so that no response arrives too early.
func (r *router) register(out *Outgoing) *waiter {
	w := &waiter{out: out, answer: make(chan Reply, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters[string(out.ID)] = w
	return w
}

// unregister removes a waiter. It does nothing if the waiter was removed before.
func (r *router) unregister(w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(w)
}

// removeLocked removes a waiter. The caller holds mu.
func (r *router) removeLocked(w *waiter) {
	if r.waiters[string(w.out.ID)] == w {
		delete(r.waiters, string(w.out.ID))
	}
}

// wait waits for the response, the end of the connection, or ctx.
func (r *router) wait(ctx context.Context, w *waiter) Reply {
	select {
	case answer := <-w.answer:
		return answer
	case <-ctx.Done():
		return Failed(cutFault(ctx, 0, ctx.Err()))
	case <-r.done:
	}
	// The response may have arrived just before the end.
	select {
	case answer := <-w.answer:
		return answer
	default:
		return r.endedReply(wire.Unknown)
	}
}

// deliver gives a message to its waiter, or to the inbox.
func (r *router) deliver(m *wire.Message) {
	if w := r.waiterFor(m); w != nil {
		w.answer <- r.replyTo(w, m)
		return
	}
	if m.Kind == wire.Batch {
		r.deliverItems(m)
		return
	}
	if r.deliverOtherID(m) {
		return
	}
	isErrorWithoutID := m.Kind == wire.ErrorResponse && !m.HasID()
	if isErrorWithoutID && r.failAmbiguous(m) {
		return
	}
	r.inbox.Receive(m)
}

// noteNoise keeps the first line or event since the last response that is not a message.
func (r *router) noteNoise(noise []byte) {
	if r.noiseLine == nil {
		r.noiseLine = noise
	}
}

// replyTo returns the reply with m and the noise before it. Responses that open a session leave the
// noise for the next response, since an opening may fail and be tried again.
func (r *router) replyTo(w *waiter, m *wire.Message) Reply {
	answer := Reply{Message: m, Noise: r.noiseLine}
	if response, odd := irregularResponse(m, w.out); response != nil {
		answer.Message = response
		answer.Irregularity = odd
	}
	if !mcp.IsOpening(w.out.Method) {
		r.noiseLine = nil
	}
	return answer
}

// deliverItems delivers the elements of an array one by one. An array that answers no request is
// delivered as a whole.
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

// waiterFor removes and returns the waiter for m: the waiter with its id, or the only waiter that m
// can belong to. It returns nil if no waiter fits. An array with a response belongs to the request
// as a whole if the request does not allow arrays.
func (r *router) waiterFor(m *wire.Message) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w := r.waiters[string(m.ID)]; w != nil && m.IsResponseTo(w.out.ID) {
		r.removeLocked(w)
		return w
	}
	// The most certain relation comes first: it may belong to any of the waiters.
	for _, fits := range []func(*Outgoing) bool{
		func(out *Outgoing) bool {
			isInArray := !out.AllowsBatch && containsResponse(m, out.ID)
			return isInArray || m.IsResponseTo(out.ID) || isBrokenResponse(m, out.ID, r.hasWholeMessages)
		},
		func(*Outgoing) bool { return len(r.waiters) == 1 && m.Kind == wire.ErrorResponse && !m.HasID() },
		func(out *Outgoing) bool {
			return out.AcceptsAny && m.Kind != wire.Notification && m.Kind != wire.Request
		},
	} {
		for _, w := range r.waiters {
			if fits(w.out) {
				r.removeLocked(w)
				return w
			}
		}
	}
	return nil
}

// deliverOtherID gives a response to the request whose id has another JSON type, "7" for 7, because no
// better response will arrive. It reports whether there is such a request.
func (r *router) deliverOtherID(m *wire.Message) bool {
	if !isReply(m) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiters {
		if response, _ := irregularResponse(m, w.out); response != nil {
			r.removeLocked(w)
			w.answer <- r.replyTo(w, m)
			return true
		}
	}
	return false
}

// failAmbiguous fails all open requests because of an error without an id: the request that it answers
// is unknown and gets no other response. It reports whether there was an open request.
func (r *router) failAmbiguous(m *wire.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.waiters)
	text := fmt.Sprintf("received an error that matches none of %d open requests: %s", n, m.Error.Message)
	for _, w := range r.waiters {
		r.removeLocked(w)
		w.answer <- Failed(badResponseFault(text, m.Raw))
	}
	return n > 0
}

// hasWaiter reports whether fits accepts an open request.
func (r *router) hasWaiter(fits func(*Outgoing) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.waiters {
		if fits(w.out) {
			return true
		}
	}
	return false
}

// end ends the connection with a reason. The first reason stays.
func (r *router) end(f *Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.endReason == nil {
		r.endReason = f
		close(r.done)
	}
}

// Gone returns a channel that is closed when no message can arrive any more.
func (r *router) Gone() <-chan struct{} { return r.done }

// endedReply returns the reply to a request after the connection ended. Call it only after done is
// closed.
func (r *router) endedReply(reached wire.Reached) Reply {
	f := *r.endReason
	f.Reached = reached
	if reached == wire.Unsent {
		f.Phase = "send"
	}
	return Failed(&f)
}
