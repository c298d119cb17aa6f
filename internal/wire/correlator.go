package wire

import (
	"strings"

	"mcpc/internal/recent"
)

// A Correlator tells to which exchange each frame belongs, while frames come. It
// holds no bytes, and what it remembers is bounded: it serves a stream without an
// end.
type Correlator struct {
	conns recent.Map[int, *connState]
	count int
	// last is the conversation of the last frame, and lastConn its number.
	last     *connState
	lastConn int
	// sent are the exchanges of the client's requests by id, once Sent was called.
	sent *recent.Map[string, int]
}

// A Role is what a frame is to its exchange.
type Role int

// The roles of a frame.
const (
	// Asks is the request with which an exchange begins; the server asks as well.
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
	// Surrounds are the frames in between that are not messages: the end of a stream, a
	// line on standard error.
	Surrounds
	// Carries is what HTTP did for a message of the client's that is no request: the
	// heads and the end of its POST, and what came there that is not a message.
	Carries
	// Cancels is the notification that gives up the request, Ends the end of the stream
	// or pipe on which the answer was to come, where that is not the request's own.
	Cancels
	Ends
	// Begins says that an Exchange begins that is none: what came on a stream of its
	// own, or on a pipe, and names no request. The frame has a place there besides.
	Begins
	// Concerns is a message that belongs to another Exchange and has to do with this
	// one: what the server asked on its stream, and what may have to do with it.
	Concerns
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
	// Guess is set on what Concerns a request for no other reason than that it was the
	// only one that waited for its answer.
	Guess bool
	// Same is set on what Asks the same as a request that failed before it: the number of that Exchange, counted from 1.
	Same int
}

// Remember bounds the conversations that the Correlator remembers: at least so many, and at most
// twice as many. It remembers 20,000 otherwise.
func (f *Correlator) Remember(conns int) { f.conns.Least = conns }

// Add places one frame. Traits are those of its message; they are not looked at
// where the frame holds none. Frames that belong to no exchange have no place,
// those with a batch may have several. They are good until the next frame is added.
func (f *Correlator) Add(ref int64, frame *Frame, t *Traits) []Place {
	c := f.last
	if c == nil || f.lastConn != frame.Conn {
		c = f.conns.Get(frame.Conn)
		if c == nil {
			c = &connState{count: &f.count}
		}
		f.conns.Put(frame.Conn, c) // also where it is there already: put keeps what is in use from being forgotten
		f.last = c
		f.lastConn = frame.Conn
	}
	c.places = c.places[:0]
	switch {
	case frame.Kind == Head:
		c.placeHead(ref, frame)
	case frame.Kind == Body, frame.Kind == Event && frame.SSE.MayCarry():
		c.placeMessage(ref, frame, t, -1)
	default:
		c.noteBookmark(frame)
		c.placeNonMessage(ref, frame)
	}
	if f.sent != nil && frame.Dir == Sent {
		f.noteSent(t, c.places)
	}
	return c.places
}

// A thread is what is known of one exchange, or of a stream or a pipe on which messages
// come that name none.
type thread struct {
	// number is its Exchange; unlisted where there is none yet, and held are the frames
	// that are placed when there is.
	number int
	held   []held
	// method and name say what the request is about; name is that of a tool or a prompt, or a URI.
	method, name string
	// parent is the request on whose stream the server asked, or the only one that
	// waited then, which is a guess.
	parent *thread
	guess  bool
	// apart is set on what is no request: a stream, a pipe.
	apart bool
	// accepted is set if the last HTTP response was a 202, refused on the thread of a GET
	// that got a 405: the server has no such stream.
	accepted, refused bool
	// id and sum are those of the request that is not answered yet; open says that
	// there is one.
	id   string
	sum  uint64
	open bool
	// asks is the same in another request for the same.
	asks uint64
	// state is what came with a question, token what names the progress.
	state, token string
}

// connState are the exchanges of one conversation, by what ties a frame to them.
type connState struct {
	count  *int
	places []Place // those of the frame that is being added

	// sent and asked are the requests of the client and those of the server. The two
	// sides number their requests apart from each other, so ids overlap, and progress
	// tokens as well.
	sent, asked requests
	unanswered  unanswered
	rounds      rounds
	failed      recent.Map[uint64, *thread] // by what was asked

	streams   recent.Map[int, *thread]    // by the HTTP request
	carriers  recent.Map[int, *thread]    // by the HTTP request that carried no request
	waiting   map[int]int64               // heads whose request's body is still to come
	bookmarks recent.Map[string, *thread] // by the id of a server-sent event

	// latest is the request that was sent last, opening the one that opened the
	// conversation. sse is the stream of HTTP+SSE, pipe what came on a pipe, and what
	// the client told by a POST.
	latest, opening, sse, pipe *thread
}

func (c *connState) place(t *thread, role Role, ref int64, item int) {
	if t.number == unlisted {
		if role != Accompanies || t.refused {
			t.hold(role, ref)
			return
		}
		c.list(t, ref)
	}
	c.places = append(c.places, Place{Exchange: t.number, Role: role, Ref: ref, Item: item})
}

// beside gives what is not a message to the exchange of its stream; on a pipe to the
// request that was sent last.
func (c *connState) placeNonMessage(ref int64, frame *Frame) {
	if c.placeCarrier(ref, frame) {
		return
	}
	t := c.streams.Get(frame.Stream)
	if frame.Held != nil {
		c.placeHeld(ref, frame, t)
		return
	}
	if frame.Stream == 0 && frame.Fault != nil && frame.Fault.ID != "" {
		t = c.sent.byID.Get(idKey([]byte(frame.Fault.ID)))
	}
	if t == nil && frame.Stream == 0 {
		t = c.latest
	}
	if ended := frame.Kind == Closed && c.closed(ref, frame, t); t != nil && !ended {
		c.place(t, Surrounds, ref, -1)
	}
}

// heldBack gives what became of a message that was held to the request that it is or answers, and
// to that of its stream.
func (c *connState) placeHeld(ref int64, frame *Frame, stream *thread) {
	of := &c.sent
	if (frame.Held.Kind == "request") != (frame.Dir == Sent) {
		of = &c.asked
	}
	var own *thread
	if frame.Held.ID != "" {
		own = of.byID.Get(idKey([]byte(frame.Held.ID)))
	}
	if own != nil {
		c.place(own, Surrounds, ref, -1)
	}
	if stream != nil && stream != own {
		c.place(stream, Surrounds, ref, -1)
	}
}

func (c *connState) placeMessage(ref int64, frame *Frame, m *Traits, item int) {
	c.noteBookmark(frame)
	switch {
	case m.Kind == Batch:
		for i := range m.Items {
			c.placeMessage(ref, frame, &m.Items[i], i)
		}
	case m.Kind == Request && frame.Dir == Sent:
		c.placeRequest(ref, frame, m, item)
	case m.Kind == Request:
		c.placeQuestion(ref, frame, m, item)
	case m.Reply && frame.Dir == Received:
		c.placeResponse(ref, frame, m, item)
	default:
		c.placeOther(ref, frame, m, item)
	}
	if head, ok := c.waiting[frame.Stream]; ok && item < 0 && c.carriers.Get(frame.Stream) != nil {
		c.placeCarried(c.carriers.Get(frame.Stream), head)
		delete(c.waiting, frame.Stream)
	}
}

func (c *connState) placeRequest(ref int64, frame *Frame, m *Traits, item int) {
	role := Repeats
	same := 0
	t := c.sent.byID.Get(m.ID)
	if t == nil || !t.open || t.sum != m.Sum {
		t = c.sentAgain(frame.Again, item)
	}
	if t == nil {
		t = c.rounds.removeContinued(m)
		role = Continues
	}
	if t == nil {
		t = &thread{number: *c.count, method: m.Method, name: m.Name}
		role = Asks
		same = c.failedBefore(m)
		*c.count++
		c.latest = t
	}
	if m.Method == "initialize" {
		c.opening = t
	}
	t.id = m.ID
	t.sum = m.Sum
	t.open = true
	t.asks = m.Asks
	t.accepted = false
	c.sent.put(t, m)
	c.unanswered.add(t)
	c.place(t, role, ref, item)
	if same > 0 {
		c.places[len(c.places)-1].Same = same
	}
	c.bind(t, frame)
}

// sentAgain returns the exchange whose request the recorder says is sent again under a new id; nil if none is. What
// another client sends under a new id is another request, also if it asks the same.
func (c *connState) sentAgain(again string, item int) *thread {
	if again == "" || item >= 0 {
		return nil
	}
	t := c.sent.byID.Get(idKey([]byte(again)))
	if t == nil || !t.open {
		return nil
	}
	c.failed.Delete(t.asks)
	c.sent.byID.Delete(t.id)
	return t
}

// failedBefore returns the number, counted from 1, of the last exchange that asked the same and failed on the way; 0 if
// there is none. It is returned once.
func (c *connState) failedBefore(m *Traits) int {
	t := c.failed.Get(m.Asks)
	if t == nil || !t.open {
		return 0
	}
	c.failed.Delete(m.Asks)
	return t.number + 1
}

// tie remembers by what else the frames that follow are known to be t's.
func (c *connState) bind(t *thread, frame *Frame) {
	if ref, ok := c.waiting[frame.Stream]; ok {
		c.place(t, Heads, ref, -1)
		delete(c.waiting, frame.Stream)
	}
	// A batch is one HTTP request: it belongs to the first of its requests.
	if frame.Stream == 0 {
		return
	}
	before := c.streams.Get(frame.Stream)
	if before == nil || before.number == unlisted {
		c.streams.Put(frame.Stream, t)
		c.carriers.Delete(frame.Stream)
		t.adopt(c, before)
	}
}

// response goes by the HTTP response that it came in, where its exchange waits for
// that id: clients that send each request by itself may number them all alike. What
// comes where nothing was asked answers nothing: a server's requests have ids as well,
// and some servers answer the answers to them.
func (c *connState) placeResponse(ref int64, frame *Frame, m *Traits, item int) {
	if c.carriers.Get(frame.Stream) != nil {
		c.placeOther(ref, frame, m, item)
		return
	}
	t := c.streams.Get(frame.Stream)
	if t != nil && t.accepted && c.sse != nil { // the answer comes on the stream of HTTP+SSE
		c.placeNonMessage(ref, frame)
		return
	}
	if t == nil || !t.open || t.id != m.ID {
		t = c.sent.byID.Get(m.ID)
	}
	if t == nil || !t.open {
		t = c.sent.byID.Get(otherKey(m.ID)) // clients take an id of the other type
	}
	if m.NoID && (t == nil || !t.open) {
		t = c.onlyWaiting(frame.Stream)
	}
	if t == nil || !t.open {
		c.placeOther(ref, frame, m, item)
		return
	}
	t.open = false
	c.unanswered.remove(t)
	c.place(t, Answers, ref, item)
	if m.More {
		c.rounds.add(t, m)
	}
}

// only is the exchange to which an answer without an id can belong: that of its
// HTTP response, or on a pipe the one that is open.
func (c *connState) onlyWaiting(stream int) *thread {
	if stream > 0 {
		if t := c.streams.Get(stream); t != nil && t.open {
			return t
		}
		return nil
	}
	return c.unanswered.single()
}

// other gives a message that is neither a request nor an answer to the exchange that
// it names, or else to that of its stream.
func (c *connState) placeOther(ref int64, frame *Frame, m *Traits, item int) {
	stream := c.streams.Get(frame.Stream)
	// All on the stream of an answer belongs to its request. The body of a 202 is no answer.
	ofAnswer := stream != nil && !stream.apart && !stream.accepted && frame.Dir == Received
	if m.Blank || m.Kind == Invalid && !m.Reply && !ofAnswer {
		c.placeNonMessage(ref, frame) // an event that says nothing but its id, bytes that are no message
		return
	}
	t := c.threadNamed(frame, m)
	role := Accompanies
	switch {
	case t == nil:
		t = c.onStream(frame)
	case m.Cancels != "" && t.open:
		role = Cancels
		c.unanswered.remove(t)
	case m.Reply && frame.Dir == Sent && t.open:
		role = Answers
		t.open = false
	}
	if frame.Dir == Sent && frame.Stream > 0 && stream == nil {
		c.carriers.Put(frame.Stream, t)
	}
	if t.number == unlisted && frame.Dir == Sent && frame.Stream > 0 && c.latest == nil {
		t.hold(role, ref) // a POST by itself, and no conversation
		return
	}
	c.place(t, role, ref, item)
	c.concerns(t, ref, item)
	if t.apart && frame.Dir == Received && m.mayBeOfAny() {
		if to := c.unanswered.single(); to != nil {
			c.places = append(c.places, Place{Exchange: to.number, Role: Concerns, Ref: ref, Item: item, Guess: true})
		}
	}
}

// mayBeOfAny reports a notification that could be of any request: it names none, and is not about what the server
// offers, which is of the session.
func (t *Traits) mayBeOfAny() bool {
	return t.Kind == Notification && t.Progress == "" && t.Cancels == "" && t.Subscription == "" &&
		!strings.HasSuffix(t.Method, "/list_changed") && t.Method != "notifications/resources/updated"
}

// named is the exchange that a message names; nil where it names none.
func (c *connState) threadNamed(frame *Frame, m *Traits) *thread {
	of := &c.sent
	if frame.Dir == Sent && (m.Reply || m.Progress != "") || frame.Dir == Received && m.Cancels != "" {
		of = &c.asked
	}
	switch {
	case m.Reply && frame.Dir == Received && c.carriers.Get(frame.Stream) != nil:
		return nil // what it came for is no request
	case m.Reply:
		if t := c.streams.Get(frame.Stream); t != nil && t.id == m.ID && m.ID != "" {
			return t
		}
		return of.byID.Get(m.ID)
	case m.Progress != "":
		if t := c.streams.Get(frame.Stream); t != nil && t.token == m.Progress && frame.Dir == Received {
			return t
		}
		return of.byToken.Get(m.Progress)
	case m.Cancels != "":
		if t := of.byID.Get(m.Cancels); t != nil || frame.Dir == Sent {
			return t
		}
		return c.sent.byID.Get(m.Cancels) // a subscription that the server ends
	case m.Subscription != "" && frame.Dir == Received:
		return c.sent.byID.Get(m.Subscription)
	case m.Method == "notifications/initialized" && frame.Dir == Sent:
		return c.opening // which it completes
	}
	return nil
}
