package wire

import (
	"cmp"
	"maps"
	"slices"
)

// What the server sends of its own accord goes by the stream on which it comes, and
// never by what happened to be asked last. Where the stream is the answer to a request,
// a message is that request's. Where it is one of its own (the answer to a GET, the
// stream of HTTP+SSE) or a pipe, a message that names no request stands apart: with its
// stream, or with the pipe's conversation. That one request alone waited for its answer
// is a guess, and said to be one.

// unlisted is the number of a thread that has none yet: of the streams most carry
// nothing that stands apart.
const unlisted = -1

// A held frame is placed with the first message of its stream.
type held struct {
	role Role
	ref  int64
}

// mostHeld is enough for the heads, the event that names an endpoint, and the end.
const mostHeld = 4

func (t *thread) hold(role Role, ref int64) {
	if len(t.held) < mostHeld {
		t.held = append(t.held, held{role, ref})
	}
}

// list gives a stream, or a pipe, its number with the first message of it.
func (c *connState) list(t *thread, ref int64) {
	t.number = *c.count
	*c.count++
	if len(t.held) > 0 {
		ref = t.held[0].ref
	}
	c.place(t, Begins, ref, -1)
	for _, h := range t.held {
		c.place(t, h.role, h.ref, -1)
	}
	t.held = nil
}

// take places with a request what came on its stream before it.
func (t *thread) adopt(c *connState, before *thread) {
	if before != nil {
		for _, h := range before.held {
			c.place(t, h.role, h.ref, -1)
		}
	}
}

// onStream returns the exchange of a frame's stream. A received frame on a stream that
// has none begins a thread for that stream; any other frame gets the thread of the pipe.
func (c *connState) onStream(f *Frame) *thread {
	t := c.streams.Get(f.Stream)
	if t == nil {
		t = c.carriers.Get(f.Stream)
	}
	switch {
	case t != nil:
	case f.Stream > 0 && f.Dir == Received:
		t = &thread{number: unlisted, apart: true}
		if head, ok := c.waiting[f.Stream]; ok {
			t.hold(Heads, head)
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

// question is a request of the server's.
func (c *connState) placeQuestion(ref int64, frame *Frame, m *Traits, item int) {
	t := &thread{number: *c.count, method: m.Method, name: m.Name, id: m.ID, open: true}
	*c.count++
	t.parent = c.streams.Get(frame.Stream)
	if t.parent == nil || t.parent.apart {
		t.parent = c.unanswered.single()
		t.guess = true
	}
	c.asked.put(t, m)
	c.place(t, Asks, ref, item)
	c.concerns(t, ref, item)
}

// concerns places a message of what the server asked also with the request for which it
// did, or may have.
func (c *connState) concerns(t *thread, ref int64, item int) {
	if t.parent != nil {
		c.places = append(c.places, Place{Exchange: t.parent.number, Role: Concerns, Ref: ref, Item: item, Guess: t.guess})
	}
}

// closed is for the end of a stream. With a pipe, and with the stream of HTTP+SSE, all
// end that wait for an answer on it; it reports whether t does.
func (c *connState) closed(ref int64, frame *Frame, t *thread) (ended bool) {
	switch whole := frame.Stream == 0; {
	case whole || t != nil && t == c.sse:
		byNumber := func(a, b *thread) int { return cmp.Compare(a.number, b.number) }
		for _, waits := range slices.SortedFunc(maps.Keys(c.unanswered.all), byNumber) {
			if whole || waits.accepted {
				c.place(waits, Ends, ref, -1)
				c.unanswered.remove(waits)
				ended = ended || waits == t
			}
		}
	case t != nil && !t.accepted:
		c.unanswered.remove(t)
		if frame.Close != nil && frame.Close.How == "cut" {
			c.noteFailure(t)
		}
	}
	return ended
}
