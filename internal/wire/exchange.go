package wire

// An Exchange is a request and everything that came back for it: a fold over
// frames. Retries, resumed streams and later rounds of one request belong to
// one exchange, because they carry the same request.
type Exchange struct {
	Request  Frame
	Response Frame
	// Between are the messages that crossed after the request and before its
	// response, in either direction.
	Between []Frame
	Heads   []Frame
}

// Fold gathers frames into exchanges, in the order of their requests. Frames
// that belong to no request are left out.
func Fold(frames []Frame) []*Exchange {
	var all []*Exchange
	open := map[string]*Exchange{}
	var heads []Frame
	var last *Exchange
	for _, f := range frames {
		if f.Kind == Head {
			heads = attach(f, heads, last)
			continue
		}
		if f.Kind != Body && f.Kind != Event {
			continue
		}
		m := ParseMessage(f.Raw)
		switch e := open[string(m.ID)]; {
		case m.Kind == Request && f.Dir == Sent:
			last = &Exchange{Request: f, Heads: heads}
			heads = nil
			open[string(m.ID)] = last
			all = append(all, last)
		case (m.Kind == Response || m.Kind == ErrorResponse) && f.Dir == Received && e != nil:
			e.Response = f
			delete(open, string(m.ID))
		case last != nil && m.Kind != Invalid:
			last.Between = append(last.Between, f)
		}
	}
	return all
}

// attach gives a head to the exchange it belongs to: a request's head comes
// before its body, a response's head after it.
func attach(f Frame, waiting []Frame, last *Exchange) []Frame {
	if f.Dir == Sent {
		return []Frame{f}
	}
	if last != nil && len(last.Heads) > 0 && last.Heads[0].Stream == f.Stream {
		last.Heads = append(last.Heads, f)
	}
	return waiting
}
