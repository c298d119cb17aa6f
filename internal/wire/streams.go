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

// apart is what a conversation has beside its requests.
type apart struct {
	// pipe is what came on a pipe, and what the client told by a POST, sse the stream of
	// HTTP+SSE, opening the request that opened the conversation.
	pipe, sse, opening *thread
	// waiters are the requests that wait for their answer. They are not looked at any
	// more where they were too many.
	waiters map[*thread]struct{}
	crowded bool
}

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
func (t *thread) take(c *connState, before *thread) {
	if before != nil {
		for _, h := range before.held {
			c.place(t, h.role, h.ref, -1)
		}
	}
}

// onStream returns the exchange of a frame's stream. A received frame on a stream that
// has none begins a thread for that stream; any other frame gets the thread of the pipe.
func (c *connState) onStream(f *Frame) *thread {
	t := c.streams.get(f.Stream)
	if t == nil {
		t = c.carriers.get(f.Stream)
	}
	switch {
	case t != nil:
	case f.Stream > 0 && f.Dir == Received:
		t = &thread{number: unlisted, apart: true}
		if head, ok := c.waiting[f.Stream]; ok {
			t.hold(Heads, head)
			delete(c.waiting, f.Stream)
		}
		c.streams.put(f.Stream, t)
	default:
		if c.pipe == nil {
			c.pipe = &thread{number: unlisted, apart: true}
		}
		t = c.pipe
	}
	return t
}

// answered reports a frame on the stream of an answer, of which all belongs to the
// request. The body of a 202 is no answer.
func (c *connState) answered(f *Frame) bool {
	t := c.streams.get(f.Stream)
	return t != nil && !t.apart && !t.accepted && f.Dir == Received
}

// question is a request of the server's.
func (c *connState) question(ref int64, frame *Frame, m Traits, item int) {
	t := &thread{number: *c.count, method: m.Method, id: m.ID, open: true}
	*c.count++
	if t.parent = c.streams.get(frame.Stream); t.parent == nil || t.parent.apart {
		t.parent, t.guess = c.single(), true
	}
	c.asked.put(m.ID, t)
	if m.Token != "" {
		c.askedTokens.put(m.Token, t)
	}
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

// guess places a message that could be of any request also with the only one that waits.
func (c *connState) guess(ref int64, item int) {
	if to := c.single(); to != nil {
		c.places = append(c.places, Place{Exchange: to.number, Role: Concerns, Ref: ref, Item: item, Guess: true})
	}
}

// waits notes that a request waits for its answer.
func (c *connState) waits(t *thread) {
	switch {
	case c.crowded:
	case len(c.waiters) >= generation:
		c.crowded, c.waiters = true, nil
	default:
		if c.waiters == nil {
			c.waiters = map[*thread]struct{}{}
		}
		c.waiters[t] = struct{}{}
	}
}

// over notes that it does not any more, answered or not.
func (c *connState) over(t *thread) { delete(c.waiters, t) }

// single is the only request that waits, nil where there are none or several. One that
// subscribes waits for ever, and what comes for it says so.
func (c *connState) single() (only *thread) {
	if len(c.waiters) > mostAtOnce {
		return nil
	}
	for t := range c.waiters {
		if t.method == "subscriptions/listen" {
			continue
		}
		if only != nil {
			return nil
		}
		only = t
	}
	return only
}

// mostAtOnce is how many requests are looked at for the single one.
const mostAtOnce = 100

// closed is for the end of a stream. With a pipe, and with the stream of HTTP+SSE, all
// end that wait for an answer on it; it reports whether t does.
func (c *connState) closed(ref int64, frame *Frame, t *thread) (ended bool) {
	switch whole := frame.Stream == 0; {
	case whole || t != nil && t == c.sse:
		for _, waits := range c.inOrder() {
			if whole || waits.accepted {
				c.place(waits, Ends, ref, -1)
				c.over(waits)
				ended = ended || waits == t
			}
		}
	case t != nil && !t.accepted:
		c.over(t)
		if frame.Close != nil && frame.Close.How == "cut" {
			c.fails(t)
		}
	}
	return ended
}

func (c *connState) inOrder() []*thread {
	return slices.SortedFunc(maps.Keys(c.waiters), func(a, b *thread) int { return cmp.Compare(a.number, b.number) })
}
