package wire

import "slices"

// A Folder tells to which exchange each frame belongs, while frames come. It
// holds no bytes, and what it remembers is bounded: it serves a stream without an
// end.
type Folder struct {
	conns recent[int, *threads]
	count int
}

// A Role is what a frame is to its exchange.
type Role int

// The roles of a frame.
const (
	// Asks is the request with which an exchange begins.
	Asks Role = iota
	// Repeats is the same request sent again, Continues the one of the next round:
	// the answer so far was a question.
	Repeats
	Continues
	// Answers is the response.
	Answers
	// Accompanies is any other message that belongs to the exchange.
	Accompanies
	// Heads is a head of HTTP, Resumes one that takes up a stream again.
	Heads
	Resumes
	// Surrounds is what crossed meanwhile and is no message: the end of a stream, a
	// line on standard error.
	Surrounds
	// Carries is what HTTP did for a message of the client's that is no request: the
	// heads and the end of its POST, and what came there that is no message.
	Carries
)

// A Place is where a frame belongs.
type Place struct {
	// Exchange counts the exchanges of all conversations from 0.
	Exchange int
	Role     Role
	// Ref is what the frame was called when it was added. A request's head is placed
	// together with the body that follows it.
	Ref int64
	// Item is the index in a batch, -1 elsewhere.
	Item int
}

// Add places one frame. Traits are those of its message; they are not looked at
// where the frame holds none. Frames that belong to no exchange have no place,
// those with a batch may have several.
func (f *Folder) Add(ref int64, frame *Frame, t Traits) []Place {
	c := f.conns.get(frame.Conn)
	if c == nil {
		c = &threads{count: &f.count}
	}
	f.conns.put(frame.Conn, c) // also where it stands there: what is in use is not forgotten
	c.places = nil
	switch {
	case frame.Kind == Head:
		c.head(ref, frame)
	case frame.Kind == Body, frame.Kind == Event && frame.SSE.mayCarry():
		c.message(ref, frame, t, -1)
	default:
		c.bookmark(frame)
		c.beside(ref, frame)
	}
	return c.places
}

// A thread is what is known of one exchange.
type thread struct {
	number int
	method string
	// id and sum are those of the request that is not answered yet; open says that
	// there is one.
	id   string
	sum  uint64
	open bool
	// asks is the same in a request that is sent again under another id, and
	// failed is set where there is a reason to.
	asks   uint64
	failed bool
	// state is what came with a question.
	state string
}

// threads are the exchanges of one conversation, by what ties a frame to them.
type threads struct {
	count  *int
	places []Place
	latest *thread

	open recent[string, *thread] // by the id of the request
	// asked is by the id of what the server asked. The two sides number their
	// requests apart from each other, so ids overlap.
	asked     recent[string, *thread]
	tokens    recent[string, *thread] // by progress token
	streams   recent[int, *thread]    // by the HTTP request
	bookmarks recent[string, *thread] // by the id of a server-sent event
	waiting   map[int]int64           // heads whose request's body is still to come
	carriers  recent[int, *thread]    // by the HTTP request that carried no request
	rounds    []*thread               // that wait for the answer to a question
	failed    recent[uint64, *thread] // by what was asked
}

// mostRounds bounds the exchanges in which nobody may ever answer.
const mostRounds = 1000

func (c *threads) place(t *thread, role Role, ref int64, item int) {
	c.places = append(c.places, Place{Exchange: t.number, Role: role, Ref: ref, Item: item})
}

// head gives a head to its exchange: a request's head comes before the body, a
// response's head after it. A GET that names the last event of a broken stream
// goes on where that ended (2025-11-25 basic/transports, "Resumability").
func (c *threads) head(ref int64, h *Frame) {
	if h.Dir == Received {
		if t := c.streams.get(h.Stream); t != nil {
			c.place(t, Heads, ref, -1)
			if h.HTTP != nil && slices.Contains(askedAgain, h.HTTP.Status) {
				c.fails(t)
			}
		} else {
			c.carries(ref, h)
		}
		return
	}
	c.streams.drop(h.Stream)
	c.carriers.drop(h.Stream)
	if t := c.bookmarks.get(h.HTTP.Field("Last-Event-ID")); t != nil {
		c.place(t, Resumes, ref, -1)
		c.streams.put(h.Stream, t)
		return
	}
	if c.waiting == nil || len(c.waiting) > mostRounds {
		c.waiting = map[int]int64{}
	}
	c.waiting[h.Stream] = ref
}

// askedAgain are the statuses after which a client sends its request again: what
// a server or a gateway says that has no time, and 404, with which a server says
// that it has forgotten the session.
var askedAgain = []int{404, 408, 429, 502, 503, 504}

func (c *threads) fails(t *thread) {
	if t.open {
		t.failed = true
		c.failed.put(t.asks, t)
	}
}

// beside gives what is no message to the exchange of its stream; on a pipe to the
// latest.
func (c *threads) beside(ref int64, frame *Frame) {
	if c.carries(ref, frame) {
		return
	}
	t := c.streams.get(frame.Stream)
	if t == nil && frame.Stream == 0 {
		t = c.latest
	}
	if t != nil {
		c.place(t, Surrounds, ref, -1)
		if frame.Stream > 0 && frame.Close != nil && frame.Close.How == "cut" {
			c.fails(t)
		}
	}
}

func (c *threads) message(ref int64, frame *Frame, m Traits, item int) {
	c.bookmark(frame)
	switch {
	case m.Kind == Batch:
		for i := range m.Items {
			c.message(ref, frame, m.Items[i], i)
		}
	case m.Kind == Request && frame.Dir == Sent:
		c.request(ref, frame, m, item)
	case m.Reply && frame.Dir == Received:
		c.response(ref, frame, m, item)
	default:
		c.other(ref, frame, m, item)
	}
	if head, ok := c.waiting[frame.Stream]; ok && item < 0 && c.carriers.get(frame.Stream) != nil {
		c.place(c.carriers.get(frame.Stream), Carries, head, -1)
		delete(c.waiting, frame.Stream)
	}
}

// bookmark remembers behind which event the stream of an exchange can be resumed.
func (c *threads) bookmark(frame *Frame) {
	if t := c.streams.get(frame.Stream); t != nil && frame.SSE != nil && frame.SSE.ID != nil && *frame.SSE.ID != "" {
		c.bookmarks.put(*frame.SSE.ID, t)
	}
}

// carries places what is no message of an HTTP request that carried no request. A
// server has to answer that with a status alone (2025-11-25 basic/transports, "Sending
// Messages to the Server").
func (c *threads) carries(ref int64, frame *Frame) bool {
	t := c.carriers.get(frame.Stream)
	if t != nil {
		c.place(t, Carries, ref, -1)
	}
	return t != nil
}

func (c *threads) request(ref int64, frame *Frame, m Traits, item int) {
	role := Repeats
	t := c.open.get(m.ID)
	if t == nil || t.sum != m.Sum {
		if t = c.sentAgain(m); t != nil {
		} else if t = c.nextRound(m); t != nil {
			role = Continues
		} else {
			t, role = &thread{number: *c.count, method: m.Method}, Asks
			*c.count++
			c.latest = t
		}
	}
	t.id, t.sum, t.open, t.asks, t.failed = m.ID, m.Sum, true, m.Asks, false
	c.open.put(m.ID, t)
	c.place(t, role, ref, item)
	c.tie(t, frame, m)
}

// sentAgain finds the exchange whose request failed on the way and is sent again
// under a new id.
func (c *threads) sentAgain(m Traits) *thread {
	t := c.failed.get(m.Asks)
	if t == nil || !t.failed || !t.open {
		return nil
	}
	c.failed.drop(m.Asks)
	if c.open.get(t.id) == t {
		c.open.drop(t.id)
	}
	return t
}

// tie remembers by what else the frames that follow are known to be t's.
func (c *threads) tie(t *thread, frame *Frame, m Traits) {
	if m.Token != "" {
		c.tokens.put(m.Token, t)
	}
	if ref, ok := c.waiting[frame.Stream]; ok {
		c.place(t, Heads, ref, -1)
		delete(c.waiting, frame.Stream)
	}
	// A batch is one HTTP request: it belongs to the first of its requests.
	if frame.Stream > 0 && c.streams.get(frame.Stream) == nil {
		c.streams.put(frame.Stream, t)
		c.carriers.drop(frame.Stream)
	}
}

// nextRound finds the exchange that m goes on with: m gives back the state that
// the server handed out, or at least answers where it asked (2026-07-28
// basic/patterns/mrtr).
func (c *threads) nextRound(m Traits) *thread {
	if len(c.rounds) == 0 || m.State == "" && !m.Answers {
		return nil
	}
	for i := len(c.rounds) - 1; i >= 0; i-- {
		if t := c.rounds[i]; t.state == m.State && t.method == m.Method {
			c.rounds = append(c.rounds[:i:i], c.rounds[i+1:]...)
			return t
		}
	}
	return nil
}

// response goes by the HTTP response that it came in, where its exchange waits for
// that id: clients that send each request by itself may number them all alike. What
// comes where nothing was asked answers nothing: a server's requests have ids as well,
// and some servers answer the answers to them.
func (c *threads) response(ref int64, frame *Frame, m Traits, item int) {
	if c.carriers.get(frame.Stream) != nil {
		c.other(ref, frame, m, item)
		return
	}
	t := c.streams.get(frame.Stream)
	if t == nil || !t.open || t.id != m.ID {
		t = c.open.get(m.ID)
	}
	if m.NoID && t == nil {
		t = c.only(frame.Stream)
	}
	if t == nil {
		c.other(ref, frame, m, item)
		return
	}
	if c.open.get(t.id) == t {
		c.open.drop(t.id)
	}
	t.open = false
	c.place(t, Answers, ref, item)
	if m.More && len(c.rounds) < mostRounds {
		t.state = m.State
		c.rounds = append(c.rounds, t)
	}
}

// only is the exchange to which an answer without an id can belong: that of its
// HTTP response, or on a pipe the one that is open.
func (c *threads) only(stream int) *thread {
	if stream > 0 {
		if t := c.streams.get(stream); t != nil && t.open {
			return t
		}
		return nil
	}
	return c.open.single()
}

// other gives a message that is neither request nor response of the client's to
// the exchange that it speaks of.
func (c *threads) other(ref int64, frame *Frame, m Traits, item int) {
	t := c.about(frame, m)
	if m.Blank { // an event that says nothing but its id, for a stream to be resumed
		c.beside(ref, frame)
		return
	}
	if t == nil {
		return
	}
	if m.Kind == Invalid && c.streams.get(frame.Stream) == nil {
		c.carries(ref, frame)
		return
	}
	if m.Kind == Request {
		c.asked.put(m.ID, t)
	}
	if frame.Dir == Sent && frame.Stream > 0 && c.streams.get(frame.Stream) == nil {
		c.carriers.put(frame.Stream, t)
	}
	c.place(t, Accompanies, ref, item)
}

func (c *threads) about(frame *Frame, m Traits) *thread {
	var named *thread
	switch {
	case frame.Dir == Sent && m.Reply:
		named = c.asked.get(m.ID)
	case m.Progress != "":
		named = c.tokens.get(m.Progress)
	case m.Cancels != "" && frame.Dir == Sent:
		named = c.open.get(m.Cancels)
	case m.Subscription != "" && frame.Dir == Received:
		named = c.open.get(m.Subscription)
	}
	if named != nil {
		return named
	}
	if t := c.streams.get(frame.Stream); t != nil {
		return t
	}
	if t := c.carriers.get(frame.Stream); t != nil {
		return t
	}
	return c.latest
}
