package wire

import (
	"cmp"
	"maps"
	"slices"
)

// A message that names no request is placed by its stream, never by the last request. On the
// stream of a response it belongs to the response's request. On a separate stream (the response to
// a GET, the stream of HTTP+SSE) or a pipe it belongs to the stream's or pipe's own thread. If only
// one request is waiting, the message is also placed with it, marked as a guess.

// unlisted is the number of a thread without an exchange. Most separate streams never carry a
// message and need no exchange.
const unlisted = -1

// A deferredFrame is a frame that is placed later, with the first message of its stream.
type deferredFrame struct {
	role Role
	ref  int64
}

// maxDeferredFrames suffices for the heads, the event that names an endpoint, and the end.
const maxDeferredFrames = 4

func (t *thread) deferFrame(role Role, ref int64) {
	if len(t.deferredFrames) < maxDeferredFrames {
		t.deferredFrames = append(t.deferredFrames, deferredFrame{role, ref})
	}
}

// beginExchange begins the exchange of a stream or pipe at its first message, and places the frames
// that were deferred for it. The exchange begins with the first of these, or with ref if no frame
// was deferred.
func (c *connState) beginExchange(t *thread, ref int64) {
	t.number = *c.count
	*c.count++
	if len(t.deferredFrames) > 0 {
		ref = t.deferredFrames[0].ref
	}
	c.place(t, RoleBeginning, ref, noItem)
	for _, h := range t.deferredFrames {
		c.place(t, h.role, h.ref, noItem)
	}
	t.deferredFrames = nil
}

// placeDeferredFrames places the deferred frames of a stream with the stream's request.
func (t *thread) placeDeferredFrames(c *connState, stream *thread) {
	if stream != nil {
		for _, h := range stream.deferredFrames {
			c.place(t, h.role, h.ref, noItem)
		}
	}
}

// threadOfStream returns the thread of a frame's stream. A received frame on a new stream begins a
// thread for it; any other frame gets the pipe's thread.
func (c *connState) threadOfStream(f *Frame) *thread {
	t := c.streams.Get(f.Stream)
	if t == nil {
		t = c.carriers.Get(f.Stream)
	}
	if t != nil {
		return t
	}
	if f.Stream > 0 && f.Dir == Received {
		t = &thread{number: unlisted, isSeparate: true}
		if head, ok := c.waitingHeads[f.Stream]; ok {
			t.deferFrame(RoleHead, head)
			delete(c.waitingHeads, f.Stream)
		}
		c.streams.Put(f.Stream, t)
		return t
	}
	if c.pipe == nil {
		c.pipe = &thread{number: unlisted, isSeparate: true}
	}
	return c.pipe
}

// placeServerRequest places a request of the server.
func (c *connState) placeServerRequest(ref int64, frame *Frame, m *Traits, item int) {
	t := &thread{number: *c.count, method: m.Method, name: m.Name, id: m.ID, isOpen: true}
	*c.count++
	t.parent = c.streams.Get(frame.Stream)
	if t.parent == nil || t.parent.isSeparate {
		t.parent = c.unanswered.onlyRequest()
		t.isGuess = true
	}
	c.serverRequests.put(t, m)
	c.place(t, RoleRequest, ref, item)
	c.placeRelated(t, ref, item)
}

// placeRelated also places a message of a server's request with the client's request that caused it, or
// may have caused it.
func (c *connState) placeRelated(t *thread, ref int64, item int) {
	if t.parent != nil {
		related := Place{Exchange: t.parent.number, Role: RoleRelated, Ref: ref, Item: item, IsGuess: t.isGuess}
		c.places = append(c.places, related)
	}
}

// endStream handles the end of a stream; t is the stream's thread, or nil. The end of a pipe, or of
// the stream of HTTP+SSE, ends all requests that wait for a response on it. It reports whether t is
// one of them, so that the end already has its place in t.
func (c *connState) endStream(ref int64, frame *Frame, t *thread) bool {
	isPipe := frame.Stream == 0
	isSSE := t != nil && t == c.sse
	ended := false
	if isPipe || isSSE {
		byNumber := func(a, b *thread) int { return cmp.Compare(a.number, b.number) }
		for _, waiting := range slices.SortedFunc(maps.Keys(c.unanswered.all), byNumber) {
			if isPipe || waiting.isAccepted { // over HTTP+SSE, a request with a 202 waits on the stream
				c.place(waiting, RoleStreamEnd, ref, noItem)
				c.unanswered.remove(waiting)
				ended = ended || waiting == t
			}
		}
	} else if t != nil && !t.isAccepted {
		c.unanswered.remove(t)
		if frame.Close != nil && frame.Close.How == "cut" {
			c.noteFailure(t)
		}
	}
	return ended
}
