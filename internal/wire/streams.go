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
// message and need none.
const unlisted = -1

// A held is a frame that is placed later, with the first message of its stream.
type held struct {
	role Role
	ref  int64
}

// mostHeld suffices for the heads, the event that names an endpoint, and the end.
const mostHeld = 4

func (t *thread) hold(role Role, ref int64) {
	if len(t.held) < mostHeld {
		t.held = append(t.held, held{role, ref})
	}
}

// list begins the exchange of a stream or pipe, at its first message.
func (c *connState) list(t *thread, ref int64) {
	t.number = *c.count
	*c.count++
	if len(t.held) > 0 {
		ref = t.held[0].ref
	}
	c.place(t, RoleBeginning, ref, -1)
	for _, h := range t.held {
		c.place(t, h.role, h.ref, -1)
	}
	t.held = nil
}

// adopt places the held frames of a stream with the stream's request.
func (t *thread) adopt(c *connState, before *thread) {
	if before != nil {
		for _, h := range before.held {
			c.place(t, h.role, h.ref, -1)
		}
	}
}

// onStream returns the thread of a frame's stream. A received frame on a new stream begins a thread
// for it; any other frame gets the pipe's thread.
func (c *connState) onStream(f *Frame) *thread {
	t := c.streams.Get(f.Stream)
	if t == nil {
		t = c.carriers.Get(f.Stream)
	}
	switch {
	case t != nil: // known
	case f.Stream > 0 && f.Dir == Received:
		t = &thread{number: unlisted, apart: true}
		if head, ok := c.waiting[f.Stream]; ok {
			t.hold(RoleHead, head)
			delete(c.waiting, f.Stream)
		}
		c.streams.Put(f.Stream, t)
	default:
		if c.pipe == nil {
			c.pipe = &thread{number: unlisted, apart: true}
		}
		t = c.pipe
	}
	return t
}

// placeQuestion places a request of the server.
func (c *connState) placeQuestion(ref int64, frame *Frame, m *Traits, item int) {
	t := &thread{number: *c.count, method: m.Method, name: m.Name, id: m.ID, open: true}
	*c.count++
	t.parent = c.streams.Get(frame.Stream)
	if t.parent == nil || t.parent.apart {
		t.parent = c.unanswered.single()
		t.guess = true
	}
	c.asked.put(t, m)
	c.place(t, RoleRequest, ref, item)
	c.concerns(t, ref, item)
}

// concerns also places a message of a server's request with the client's request that caused it, or
// may have caused it.
func (c *connState) concerns(t *thread, ref int64, item int) {
	if t.parent != nil {
		related := Place{Exchange: t.parent.number, Role: RoleRelated, Ref: ref, Item: item, IsGuess: t.guess}
		c.places = append(c.places, related)
	}
}

// closed handles the end of a stream. The end of a pipe, or of the stream of HTTP+SSE, ends all
// requests that wait for a response on it. It reports whether t is one of them.
func (c *connState) closed(ref int64, frame *Frame, t *thread) (ended bool) {
	whole := frame.Stream == 0
	if whole || t != nil && t == c.sse {
		byNumber := func(a, b *thread) int { return cmp.Compare(a.number, b.number) }
		for _, waits := range slices.SortedFunc(maps.Keys(c.unanswered.all), byNumber) {
			if whole || waits.accepted {
				c.place(waits, RoleStreamEnd, ref, -1)
				c.unanswered.remove(waits)
				ended = ended || waits == t
			}
		}
	} else if t != nil && !t.accepted {
		c.unanswered.remove(t)
		if frame.Close != nil && frame.Close.How == "cut" {
			c.noteFailure(t)
		}
	}
	return ended
}
