package wire

// An Exchange is a request and everything that came back for it: a fold over
// frames. Retries, resumed streams and later rounds of one request belong to
// one exchange.
type Exchange struct {
	// Request is what was sent first.
	Request Frame
	// Response is the answer; Raw is nil where none came. Of a batch, Request
	// and Response hold their own message alone.
	Response Frame
	// Between are the other messages that belong to the request, in either
	// direction: what the server told and asked on the way to the response, the
	// answers to it, retries and earlier rounds. Late ones stand here too.
	Between []Frame
	// Heads are the HTTP heads of the request, of its retries and of the
	// streams on which it was answered.
	Heads []Frame
	// Carriers are what HTTP did for those messages in Between that the client sent
	// by a request of their own: its answers, its notifications.
	Carriers []Frame
	// Beside is what crossed meanwhile and is no message: the ends of its streams,
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

// Fold gathers frames into exchanges, in the order of their requests. Frames
// that belong to no request are left out. What does not say to which request it
// belongs goes to the latest.
func Fold(frames []Frame) (all []*Exchange) {
	var folder Folder
	for i := range frames {
		var t Traits
		var m *Message
		if k := frames[i].Kind; k == Body || k == Event {
			m = ParseMessage(frames[i].Raw)
			t = m.Traits()
		}
		for _, p := range folder.Add(int64(i), &frames[i], t) {
			if p.Role == Asks {
				all = append(all, &Exchange{})
			}
			frame := frames[p.Ref]
			if p.Item >= 0 {
				frame.Raw = m.Items[p.Item].Raw
			}
			all[p.Exchange].add(frame, p.Role)
		}
	}
	return all
}

func (e *Exchange) add(frame Frame, role Role) {
	switch role {
	case Asks:
		e.Request = frame
	case Continues:
		e.Between = append(e.Between, e.Response, frame)
		e.Response = Frame{}
	case Answers:
		e.Response = frame
	case Repeats, Accompanies:
		e.Between = append(e.Between, frame)
	case Heads, Resumes:
		e.Heads = append(e.Heads, frame)
	case Surrounds:
		e.Beside = append(e.Beside, frame)
	case Carries:
		e.Carriers = append(e.Carriers, frame)
	}
}
