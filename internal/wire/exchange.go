package wire

// An Exchange is a request and everything that came back for it: a fold over
// frames. Retries, resumed streams and later rounds of one request belong to
// one exchange. What the server asks is an exchange of its own, in which the request
// was received and the response sent. Messages that name no request make an Exchange
// without one: those of a stream that is no answer, those of a pipe.
type Exchange struct {
	// Request is its first message; its Raw is nil where there is none.
	Request Frame
	// Response is the answer; Raw is nil where none came. Of a batch, Request
	// and Response hold their own message alone.
	Response Frame
	// Between are the other messages that belong to the request, in either
	// direction: what the server told and asked on the way to the response, the
	// answers to it, retries and earlier rounds. Late ones stand here too.
	Between []Frame
	// guessed are those of them that name no request, and stand here because no other
	// one waited for its answer then.
	guessed map[uint64]bool
	// Heads are the HTTP heads of the request, of its retries and of the
	// streams on which it was answered.
	Heads []Frame
	// Carriers are what HTTP did for those messages in Between that the client sent
	// by a request of their own: its answers, its notifications.
	Carriers []Frame
	// Beside are the frames in between that are not messages: the ends of its streams,
	// lines on standard error.
	Beside []Frame
}

// HeadsOf are the heads of the HTTP request in which a message crossed that is
// neither request nor response; none where it had no HTTP request of its own.
func (e *Exchange) HeadsOf(message Frame) (heads []Frame) {
	for _, f := range e.Carriers {
		if f.Kind == Head && f.HTTP != nil && f.Stream == message.Stream && f.Conn == message.Conn {
			heads = append(heads, f)
		}
	}
	return heads
}

// Guessed reports that nothing says that a message of Between belongs to the request,
// which merely was the only one that waited for its answer then.
func (e *Exchange) Guessed(message Frame) bool { return e.guessed[message.Seq] }

// ByServer reports a request of the server's.
func (e *Exchange) ByServer() bool { return e.Request.Raw != nil && e.Request.Dir == Received }

// Fold gathers frames into exchanges, in the order in which these begin. What is not a
// message and was sent while there was nothing that it could belong to is left out.
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

// Add puts a frame where its place is. Frames are added in the order in which they
// crossed.
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
