package wire

// An Exchange is a request and all frames that belong to it, including retries, resumed streams and
// later rounds. A request of the server is an exchange whose request was received and whose
// response was sent. Messages that name no request form an Exchange without a request: one for each
// separate stream, and one for a pipe.
type Exchange struct {
	// Request is the first message. Its Raw is nil if the Exchange has no request.
	Request Frame
	// Response is the response. Its Raw is nil if no response was received. From a batch, Request
	// and Response contain only their own message.
	Response Frame
	// OtherMessages are the other messages that belong to the request, in both directions: notifications,
	// the server's requests and the responses to them, retries, earlier rounds and late messages.
	OtherMessages []Frame
	// guessed are the Seq of the OtherMessages that name no request, and belong to this one only
	// because no other request was waiting.
	guessed map[uint64]bool
	// Heads are the HTTP heads of the request, of its retries and of the streams with its response.
	Heads []Frame
	// Carriers are the HTTP frames of those OtherMessages that the client sent in a separate HTTP
	// request.
	Carriers []Frame
	// NonMessages are the frames that are not messages: the ends of streams, lines on standard error.
	NonMessages []Frame
}

// HeadsOf returns the heads of the HTTP request that carried a message of OtherMessages, and of its
// response. It returns nil if the message had no separate HTTP request.
func (e *Exchange) HeadsOf(message Frame) []Frame {
	var heads []Frame
	for _, f := range e.Carriers {
		if f.Kind == Head && f.HTTP != nil && f.Stream == message.Stream && f.Conn == message.Conn {
			heads = append(heads, f)
		}
	}
	return heads
}

// IsGuess reports whether a message of OtherMessages belongs to the request only because no other
// request was waiting.
func (e *Exchange) IsGuess(message Frame) bool { return e.guessed[message.Seq] }

// IsFromServer reports whether the server sent the request.
func (e *Exchange) IsFromServer() bool { return e.Request.Raw != nil && e.Request.Dir == Received }

// GroupFrames groups frames into exchanges, in the order of their first frames. It leaves out frames that
// are not messages and belong to no exchange.
func GroupFrames(frames []Frame) []*Exchange {
	var correlator Correlator
	var all []*Exchange
	for i := range frames {
		var t Traits
		var m *Message
		if k := frames[i].Kind; k == Body || k == Event {
			m = ParseMessage(frames[i].Raw)
			t = m.Traits()
		}
		for _, p := range correlator.Add(int64(i), &frames[i], &t) {
			if p.Role == RoleRequest || p.Role == RoleBeginning {
				all = append(all, &Exchange{}) // its index is p.Exchange
			}
			frame := frames[p.Ref]
			if p.Item >= 0 {
				frame.Raw = m.Items[p.Item].Raw
			}
			all[p.Exchange].Add(frame, p)
		}
	}
	return all
}

// Add adds a frame at its place. Frames must be added in the order they were sent in. It ignores
// RoleBeginning: the frame has a second place in the exchange.
func (e *Exchange) Add(frame Frame, p Place) {
	if p.IsGuess {
		if e.guessed == nil {
			e.guessed = map[uint64]bool{}
		}
		e.guessed[frame.Seq] = true
	}
	switch p.Role {
	case RoleRequest:
		e.Request = frame
	case RoleContinuation:
		// The result that required input is no longer the response: the next round has one.
		e.OtherMessages = append(e.OtherMessages, e.Response, frame)
		e.Response = Frame{}
	case RoleResponse:
		e.Response = frame
	case RoleRepeat, RoleOtherMessage, RoleCancellation, RoleRelated:
		e.OtherMessages = append(e.OtherMessages, frame)
	case RoleHead, RoleResumption:
		e.Heads = append(e.Heads, frame)
	case RoleNonMessage, RoleStreamEnd:
		e.NonMessages = append(e.NonMessages, frame)
	case RoleCarrier:
		e.Carriers = append(e.Carriers, frame)
	}
}
