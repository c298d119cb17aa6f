package wire

// An Exchange is a request and all frames that belong to it, including retries, resumed streams and
// later rounds. A request of the server is an exchange in which the request was received and the
// response sent. Messages that name no request form an Exchange without one: those of a separate
// stream, and those of a pipe.
type Exchange struct {
	// Request is the first message. Its Raw is nil for an Exchange without a request.
	Request Frame
	// Response is the response. Its Raw is nil if none was received. From a batch, Request and
	// Response contain only their own message.
	Response Frame
	// Between are the other messages that belong to the request, in both directions: notifications,
	// the server's requests and the responses to them, retries, earlier rounds and late messages.
	Between []Frame
	// guessed are the messages in Between that name no request, and belong to this one only because
	// no other request was waiting.
	guessed map[uint64]bool
	// Heads are the HTTP heads of the request, of its retries and of the streams with its response.
	Heads []Frame
	// Carriers are the HTTP frames of the client's messages in Between that have their own HTTP
	// request.
	Carriers []Frame
	// Beside are the frames that are not messages: the ends of streams, lines on standard error.
	Beside []Frame
}

// HeadsOf returns the heads of the HTTP request that carried a message in Between, or nil if the
// message had no HTTP request of its own.
func (e *Exchange) HeadsOf(message Frame) (heads []Frame) {
	for _, f := range e.Carriers {
		if f.Kind == Head && f.HTTP != nil && f.Stream == message.Stream && f.Conn == message.Conn {
			heads = append(heads, f)
		}
	}
	return heads
}

// Guessed reports whether a message in Between belongs to the request only because no other request
// was waiting.
func (e *Exchange) Guessed(message Frame) bool { return e.guessed[message.Seq] }

// ByServer reports whether the server sent the request.
func (e *Exchange) ByServer() bool { return e.Request.Raw != nil && e.Request.Dir == Received }

// Fold groups frames into exchanges, in the order of their first frames. It leaves out frames that
// are not messages and belong to no exchange.
func Fold(frames []Frame) (all []*Exchange) {
	var folder Correlator
	for i := range frames {
		var t Traits
		var m *Message
		if k := frames[i].Kind; k == Body || k == Event {
			m = ParseMessage(frames[i].Raw)
			t = m.Traits()
		}
		for _, p := range folder.Add(int64(i), &frames[i], &t) {
			if p.Role == Asks || p.Role == Begins {
				all = append(all, &Exchange{})
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

// Add adds a frame at its place. Frames must be added in the order in which they were sent.
func (e *Exchange) Add(frame Frame, p Place) {
	if p.Guess {
		if e.guessed == nil {
			e.guessed = map[uint64]bool{}
		}
		e.guessed[frame.Seq] = true
	}
	switch p.Role {
	case Asks:
		e.Request = frame
	case Continues:
		e.Between = append(e.Between, e.Response, frame)
		e.Response = Frame{}
	case Answers:
		e.Response = frame
	case Repeats, Accompanies, Cancels, Concerns:
		e.Between = append(e.Between, frame)
	case Heads, Resumes:
		e.Heads = append(e.Heads, frame)
	case Surrounds, Ends:
		e.Beside = append(e.Beside, frame)
	case Carries:
		e.Carriers = append(e.Carriers, frame)
	}
}
