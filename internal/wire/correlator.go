package wire

import (
	"strings"

	"mcpc/internal/recent"
)

// A Correlator assigns each frame of a live stream to its exchange. It keeps no bytes, and its
// memory is bounded, so the stream may be endless.
type Correlator struct {
	conns recent.Map[int, *connState]
	count int
	// last is the conversation of the last frame, and lastConn the conversation's number.
	last     *connState
	lastConn int
	// exchangeBySentID maps the ids of the client's requests to exchanges. Nil until the first call of Sent.
	exchangeBySentID *recent.Map[string, int]
}

// A Role is the relation of a frame to its exchange.
type Role int

// The roles of a frame.
const (
	// RoleRequest is the first request of an exchange, from the client or the server.
	RoleRequest Role = iota
	// RoleRepeat is the same request sent again.
	RoleRepeat
	// RoleContinuation is the request of the next round, after a result that required input.
	RoleContinuation
	// RoleResponse is the response.
	RoleResponse
	// RoleOtherMessage is any other message that belongs to the exchange.
	RoleOtherMessage
	// RoleHead is an HTTP head.
	RoleHead
	// RoleResumption is the head of a GET that resumes a stream.
	RoleResumption
	// RoleNonMessage is a frame that is not a message: the end of a stream, a line on standard error.
	RoleNonMessage
	// RoleCarrier is an HTTP frame of a client's message that is no request: the heads and the end
	// of its POST, and any data in the response that is not a message.
	RoleCarrier
	// RoleCancellation is the notification that cancels the request.
	RoleCancellation
	// RoleStreamEnd is the end of a stream or pipe, other than the request's own, that was to carry the
	// response.
	RoleStreamEnd
	// RoleBeginning begins an Exchange without a request, for a separate stream or a pipe. The frame
	// has a second place there.
	RoleBeginning
	// RoleRelated is a message of another Exchange that concerns this one: the server's request on
	// its stream, or a message that may be about it.
	RoleRelated
)

// A Place is the place of a frame in an exchange.
type Place struct {
	// Exchange counts the exchanges of all conversations from 0.
	Exchange int
	Role     Role
	// Ref is the reference that Add was called with. A request's head gets its place with the body
	// that follows it.
	Ref int64
	// Item is the index in a batch, or -1 if the frame is not part of a batch.
	Item int
	// IsGuess is set if a message concerns a request only because no other request was waiting.
	IsGuess bool
	// FailedBefore is the number, from 1, of an earlier Exchange whose equal request failed, or 0.
	FailedBefore int
}

// noItem is the Item of a frame that is not part of a batch.
const noItem = -1

// Remember sets the minimum number of conversations to remember; the maximum is twice that. The
// default is 20,000.
func (f *Correlator) Remember(conns int) { f.conns.MinEntries = conns }

// Add returns the places of one frame. t are the traits of its message; they are ignored for a frame
// without one. A frame that belongs to no exchange has no place; a batch, or a head that had to wait
// for its body, may have several. The result is valid until the next call.
func (f *Correlator) Add(ref int64, frame *Frame, t *Traits) []Place {
	c := f.last // most frames belong to the conversation of the frame before
	if c == nil || f.lastConn != frame.Conn {
		c = f.conns.Get(frame.Conn)
		if c == nil {
			c = &connState{count: &f.count}
		}
		f.conns.Put(frame.Conn, c) // also marks a known conversation as used
		f.last = c
		f.lastConn = frame.Conn
	}
	c.places = c.places[:0]
	if frame.Kind == Head {
		c.placeHead(ref, frame)
	} else if frame.Kind == Body || frame.Kind == Event && frame.SSE.MayCarryMessage() {
		c.placeMessage(ref, frame, t, noItem)
	} else {
		c.noteBookmark(frame) // an event without a message can have an id, too
		c.placeNonMessage(ref, frame)
	}
	if f.exchangeBySentID != nil && frame.Dir == Sent {
		f.noteSent(t, c.places)
	}
	return c.places
}

// A thread is the state of an exchange, or of a separate stream or pipe whose messages name no
// request.
type thread struct {
	// number is the number of the Exchange, or unlisted.
	number int
	// deferredFrames are the frames to place once the number is known.
	deferredFrames []deferredFrame
	// method and name are the request's; name is a tool, a prompt or a URI.
	method, name string
	// parent is the client's request that a server's request belongs to. isGuess is set if parent
	// is only assumed, because no other request was waiting.
	parent  *thread
	isGuess bool
	// isSeparate is set for a separate stream or a pipe.
	isSeparate bool
	// isAccepted is set if the last HTTP response was a 202.
	isAccepted bool
	// isRefused is set if a GET was answered with 405, so that the server has no such stream.
	isRefused bool
	// id and bytesHash identify the last request. isOpen is set while it waits for its response.
	id        string
	bytesHash uint64
	isOpen    bool
	// contentHash is equal for requests with the same method and params.
	contentHash uint64
	// requestState is the requestState of a result that required input.
	requestState string
	// progressToken is the request's progress token.
	progressToken string
}

// A connState is the state of one conversation.
type connState struct {
	count  *int
	places []Place // the places of the current frame

	// clientRequests and serverRequests are the requests of the two sides. Their ids and progress
	// tokens are independent and may be equal.
	clientRequests, serverRequests requests
	unanswered                     unanswered
	rounds                         rounds
	failedByContent                recent.Map[uint64, *thread] // by what was asked

	streams          recent.Map[int, *thread]    // by the HTTP request
	carriers         recent.Map[int, *thread]    // by the HTTP request that carried no request
	waitingHeads     map[int]int64               // heads whose request's body is still to come
	threadsByEventID recent.Map[string, *thread] // by the id of a server-sent event

	latestRequest  *thread // the client's last request
	openingRequest *thread // the request that opened the conversation
	sse            *thread // the stream of HTTP+SSE
	pipe           *thread // messages of a pipe, and of the client's POSTs, that name no request
}

// place adds a place in the thread's exchange. A thread without an exchange gets one with its first
// message, unless the server refused its stream; until then its frames are deferred. item is the index
// in a batch, or noItem.
func (c *connState) place(t *thread, role Role, ref int64, item int) {
	if t.number == unlisted {
		if role != RoleOtherMessage || t.isRefused {
			t.deferFrame(role, ref)
			return
		}
		c.beginExchange(t, ref)
	}
	c.places = append(c.places, Place{Exchange: t.number, Role: role, Ref: ref, Item: item})
}

// placeNonMessage places a frame that is not a message with its stream's request. On a pipe it
// places it with the request that it names, or else with the client's last request. A frame of an
// unknown stream gets no place.
func (c *connState) placeNonMessage(ref int64, frame *Frame) {
	if c.placeCarrier(ref, frame) {
		return
	}
	isOnPipe := frame.Stream == 0
	owner := c.streams.Get(frame.Stream)
	if frame.Held != nil {
		c.placeHeld(ref, frame, owner)
		return
	}
	if isOnPipe && frame.Fault != nil && frame.Fault.ID != "" {
		owner = c.clientRequests.byID.Get(idKey([]byte(frame.Fault.ID)))
	}
	if owner == nil && isOnPipe {
		owner = c.latestRequest
	}
	isPlaced := false
	if frame.Kind == Closed {
		isPlaced = c.endStream(ref, frame, owner) // it places the end with each request that it ends
	}
	if owner != nil && !isPlaced {
		c.place(owner, RoleNonMessage, ref, noItem)
	}
}

// placeHeld places the record of a held message with the message's request, and also with the
// thread of its stream, if the two differ. stream may be nil.
func (c *connState) placeHeld(ref int64, frame *Frame, stream *thread) {
	requests := &c.clientRequests
	if (frame.Held.Kind == "request") != (frame.Dir == Sent) {
		// A request that was received, or a response that was sent.
		requests = &c.serverRequests
	}
	var request *thread
	if frame.Held.ID != "" {
		request = requests.byID.Get(idKey([]byte(frame.Held.ID)))
	}
	if request != nil {
		c.place(request, RoleNonMessage, ref, noItem)
	}
	if stream != nil && stream != request {
		c.place(stream, RoleNonMessage, ref, noItem)
	}
}

// placeMessage places a message by its kind, and a batch by each of its messages. item is the
// message's index in a batch, or noItem.
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
		c.placeServerRequest(ref, frame, m, item)
	case m.IsReply && frame.Dir == Received:
		c.placeResponse(ref, frame, m, item)
	default:
		c.placeOther(ref, frame, m, item)
	}
	head, isWaiting := c.waitingHeads[frame.Stream]
	if !isWaiting || item != noItem {
		return
	}
	// The head waited for the message, which is no request: place it with what the POST carried.
	if carried := c.carriers.Get(frame.Stream); carried != nil {
		c.placeCarried(carried, head)
		delete(c.waitingHeads, frame.Stream)
	}
}

// placeRequest places a client's request with the exchange that it repeats or continues, or else
// begins an exchange.
func (c *connState) placeRequest(ref int64, frame *Frame, m *Traits, item int) {
	role := RoleRepeat
	failedBefore := 0
	request := c.clientRequests.byID.Get(m.ID)
	isRetry := request != nil && request.isOpen && request.bytesHash == m.BytesHash
	if !isRetry {
		request = c.findRepeated(frame.PreviousID, item)
	}
	if request == nil {
		request = c.rounds.removeContinued(m)
		role = RoleContinuation
	}
	if request == nil {
		request = &thread{number: *c.count, method: m.Method, name: m.Name}
		role = RoleRequest
		failedBefore = c.takeFailedBefore(m)
		*c.count++
		c.latestRequest = request
	}
	if m.Method == "initialize" {
		c.openingRequest = request
	}
	request.id = m.ID
	request.bytesHash = m.BytesHash
	request.isOpen = true
	request.contentHash = m.ContentHash
	request.isAccepted = false // the status for this POST is still to come
	c.clientRequests.put(request, m)
	c.unanswered.add(request)
	c.place(request, role, ref, item)
	if failedBefore > 0 {
		c.places[len(c.places)-1].FailedBefore = failedBefore
	}
	c.bindStream(request, frame)
}

// findRepeated returns the exchange of the earlier request that, by the recorder's note, is repeated
// under a new id, or nil. previousID is the note: the earlier id as JSON, or "". Without the note, a
// request with a new id is always a new request; so is a request in a batch.
func (c *connState) findRepeated(previousID string, item int) *thread {
	if previousID == "" || item >= 0 {
		return nil
	}
	t := c.clientRequests.byID.Get(idKey([]byte(previousID)))
	if t == nil || !t.isOpen {
		return nil
	}
	// The exchange goes on under the new id: no later request may be linked to its failure, or
	// found by its old id.
	c.failedByContent.Delete(t.contentHash)
	c.clientRequests.byID.Delete(t.id)
	return t
}

// takeFailedBefore returns the number, from 1, of the last exchange with an equal request that failed
// in transport, or 0. It returns each exchange only once.
func (c *connState) takeFailedBefore(m *Traits) int {
	t := c.failedByContent.Get(m.ContentHash)
	if t == nil || !t.isOpen {
		return 0
	}
	c.failedByContent.Delete(m.ContentHash)
	return t.number + 1
}

// bindStream places the head and the deferred frames of a request's stream with the request, and assigns
// the stream to it.
func (c *connState) bindStream(t *thread, frame *Frame) {
	if ref, ok := c.waitingHeads[frame.Stream]; ok {
		c.place(t, RoleHead, ref, noItem)
		delete(c.waitingHeads, frame.Stream)
	}
	if frame.Stream == 0 { // a pipe belongs to no single request
		return
	}
	// A batch is one HTTP request: it belongs to the first of its requests.
	previous := c.streams.Get(frame.Stream)
	if previous == nil || previous.number == unlisted {
		c.streams.Put(frame.Stream, t)
		c.carriers.Delete(frame.Stream)
		t.placeDeferredFrames(c, previous)
	}
}

// placeResponse places a response: by its HTTP response if the stream's request waits for the id,
// because some clients use the same id for all requests, and else by its id. A reply to no request
// is placed like any other message.
func (c *connState) placeResponse(ref int64, frame *Frame, m *Traits, item int) {
	if c.carriers.Get(frame.Stream) != nil { // the POST carried no request, so this is no response to one
		c.placeOther(ref, frame, m, item)
		return
	}
	request := c.streams.Get(frame.Stream)
	if request != nil && request.isAccepted && c.sse != nil {
		// Over HTTP+SSE the response comes on the stream of events: this is the body of the 202.
		c.placeNonMessage(ref, frame)
		return
	}
	if request == nil || !request.isOpen || request.id != m.ID {
		request = c.clientRequests.byID.Get(m.ID)
	}
	if request == nil || !request.isOpen {
		request = c.clientRequests.byID.Get(keyOfOtherType(m.ID)) // clients accept an id of the other type
	}
	if m.LacksID && (request == nil || !request.isOpen) {
		request = c.threadWithoutID(frame.Stream)
	}
	if request == nil || !request.isOpen {
		c.placeOther(ref, frame, m, item)
		return
	}
	request.isOpen = false
	c.unanswered.remove(request)
	c.place(request, RoleResponse, ref, item)
	if m.RequiresInput {
		c.rounds.add(request, m) // a later request may continue it
	}
}

// threadWithoutID returns the exchange that a response without an id may belong to: the stream's if
// it is open, or on a pipe the only open one. It returns nil without an open exchange, or if
// several are open on a pipe.
func (c *connState) threadWithoutID(stream int) *thread {
	if stream > 0 {
		if t := c.streams.Get(stream); t != nil && t.isOpen {
			return t
		}
		return nil
	}
	return c.unanswered.onlyRequest()
}

// placeOther places a message that is neither a request nor a response: with the exchange that it
// names, or else with its stream's.
func (c *connState) placeOther(ref int64, frame *Frame, m *Traits, item int) {
	stream := c.streams.Get(frame.Stream)
	// Everything in the HTTP response to a request belongs to the request, even if it is not a valid
	// message. The body of a 202 is not the response.
	isInResponse := stream != nil && !stream.isSeparate && !stream.isAccepted && frame.Dir == Received
	isNoMessage := m.Kind == Invalid && !m.IsReply && !isInResponse
	if m.IsBlank || isNoMessage { // blank: an event that has only an id
		c.placeNonMessage(ref, frame)
		return
	}
	t := c.findNamedThread(frame, m)
	role := RoleOtherMessage
	switch {
	case t == nil:
		t = c.threadOfStream(frame)
	case m.CancelledID != "" && t.isOpen:
		role = RoleCancellation
		c.unanswered.remove(t)
	case m.IsReply && frame.Dir == Sent && t.isOpen:
		role = RoleResponse
		t.isOpen = false
	}
	isPosted := frame.Dir == Sent && frame.Stream > 0
	if isPosted && stream == nil { // later frames of this POST belong to t too
		c.carriers.Put(frame.Stream, t)
	}
	if isPosted && t.number == unlisted && c.latestRequest == nil {
		// The client has not sent any request: this POST may be all there is. The frame is placed
		// when a message of the thread follows, so that a single POST becomes no exchange.
		t.deferFrame(role, ref)
		return
	}
	c.place(t, role, ref, item)
	c.placeRelated(t, ref, item)
	// A message that names no request may belong to the only request that is waiting.
	if t.isSeparate && frame.Dir == Received && m.mayConcernAnyRequest() {
		c.placeGuess(ref, item)
	}
}

// placeGuess also places a message with the only request that waits for a response, if there is
// exactly one, and marks the place as a guess.
func (c *connState) placeGuess(ref int64, item int) {
	waiting := c.unanswered.onlyRequest()
	if waiting == nil {
		return
	}
	c.places = append(c.places, Place{Exchange: waiting.number, Role: RoleRelated, Ref: ref, Item: item, IsGuess: true})
}

// mayConcernAnyRequest reports whether a notification may belong to any request: it names no
// request, and is not about the server's lists, which belong to the session.
func (t *Traits) mayConcernAnyRequest() bool {
	return t.Kind == Notification && t.ReportedToken == "" && t.CancelledID == "" && t.SubscriptionID == "" &&
		!strings.HasSuffix(t.Method, "/list_changed") && t.Method != "notifications/resources/updated"
}

// findNamedThread returns the exchange that a message names by an id or a progress token, or nil.
func (c *connState) findNamedThread(frame *Frame, m *Traits) *thread {
	// A reply and a progress report name a request of the other side, a cancellation names a
	// request of the sender.
	requests := &c.clientRequests
	if frame.Dir == Sent && (m.IsReply || m.ReportedToken != "") || frame.Dir == Received && m.CancelledID != "" {
		requests = &c.serverRequests
	}
	if m.IsReply && frame.Dir == Received && c.carriers.Get(frame.Stream) != nil {
		return nil // its POST carried no request
	}
	if m.IsReply {
		if t := c.streams.Get(frame.Stream); t != nil && t.id == m.ID && m.ID != "" {
			return t
		}
		return requests.byID.Get(m.ID)
	}
	if m.ReportedToken != "" {
		if t := c.streams.Get(frame.Stream); t != nil && t.progressToken == m.ReportedToken && frame.Dir == Received {
			return t
		}
		return requests.byToken.Get(m.ReportedToken)
	}
	if m.CancelledID != "" {
		if t := requests.byID.Get(m.CancelledID); t != nil || frame.Dir == Sent {
			return t
		}
		return c.clientRequests.byID.Get(m.CancelledID) // a subscription that the server ends
	}
	if m.SubscriptionID != "" && frame.Dir == Received {
		return c.clientRequests.byID.Get(m.SubscriptionID)
	}
	if m.Method == "notifications/initialized" && frame.Dir == Sent {
		return c.openingRequest // the notification completes it
	}
	return nil
}
