package wire

import "bytes"

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
}

// Fold gathers frames into exchanges, in the order of their requests. Frames
// that belong to no request are left out. What does not say to which request it
// belongs goes to the latest.
func Fold(frames []Frame) []*Exchange {
	f := folder{
		open: map[string]*Exchange{}, asked: map[string]*Exchange{}, tokens: map[string]*Exchange{},
		streams: map[int]*Exchange{}, bookmarks: map[string]*Exchange{}, waiting: map[int]Frame{},
	}
	for _, frame := range frames {
		switch frame.Kind {
		case Head:
			f.head(frame)
		case Body, Event:
			f.message(frame, ParseMessage(frame.Raw))
		}
	}
	return f.all
}

// A folder holds what ties a frame to its exchange.
type folder struct {
	all  []*Exchange
	open map[string]*Exchange // by the id of a request that waits for its answer
	// asked is by the id of what the server asked. The two sides number their
	// requests apart from each other, so ids overlap.
	asked     map[string]*Exchange
	tokens    map[string]*Exchange // by progress token
	streams   map[int]*Exchange    // by the HTTP request
	bookmarks map[string]*Exchange // by the id of a server-sent event
	waiting   map[int]Frame        // heads whose request's body is still to come
	rounds    []*Exchange          // that ended by asking for another round
}

// head gives a head to its exchange: a request's head comes before the body, a
// response's head after it. A GET that names the last event of a broken stream
// goes on where that ended (2025-11-25 basic/transports, "Resumability").
func (f *folder) head(h Frame) {
	if h.Dir == Received {
		if e := f.streams[h.Stream]; e != nil {
			e.Heads = append(e.Heads, h)
		}
		return
	}
	delete(f.streams, h.Stream)
	if e := f.bookmarks[h.HTTP.Field("Last-Event-ID")]; e != nil {
		e.Heads = append(e.Heads, h)
		f.streams[h.Stream] = e
		return
	}
	f.waiting[h.Stream] = h
}

func (f *folder) message(frame Frame, m *Message) {
	if e := f.streams[frame.Stream]; e != nil && frame.SSE != nil && frame.SSE.ID != nil && *frame.SSE.ID != "" {
		f.bookmarks[*frame.SSE.ID] = e
	}
	switch {
	case m.Kind == Batch:
		for _, item := range m.Items {
			frame.Raw = item.Raw
			f.message(frame, item)
		}
	case m.Kind == Request && frame.Dir == Sent:
		f.request(frame, m)
	case m.reply && frame.Dir == Received:
		f.response(frame, m)
	default:
		f.other(frame, m)
	}
}

func (f *folder) request(frame Frame, m *Message) {
	key := idKey(m.ID)
	e := f.open[key]
	if e != nil && bytes.Equal(e.Request.Raw, frame.Raw) {
		e.Between = append(e.Between, frame)
	} else if e = f.nextRound(m); e != nil {
		e.Between = append(e.Between, e.Response, frame)
		e.Response = Frame{}
	} else {
		e = &Exchange{Request: frame}
		f.all = append(f.all, e)
	}
	f.open[key] = e
	f.tie(e, frame, m)
}

// tie remembers by what else the frames that follow are known to be e's.
func (f *folder) tie(e *Exchange, frame Frame, m *Message) {
	if token := inside(m.Params, "_meta", "progressToken"); token != nil {
		f.tokens[idKey(token)] = e
	}
	if h, ok := f.waiting[frame.Stream]; ok {
		e.Heads = append(e.Heads, h)
		delete(f.waiting, frame.Stream)
	}
	// A batch is one HTTP request: it belongs to the first of its requests.
	if frame.Stream > 0 && f.streams[frame.Stream] == nil {
		f.streams[frame.Stream] = e
	}
}

// nextRound finds the exchange that m goes on with: m gives back the state that
// the server handed out, or at least answers where it asked (2026-07-28
// basic/patterns/mrtr).
func (f *folder) nextRound(m *Message) *Exchange {
	state, answers := inside(m.Params, "requestState"), inside(m.Params, "inputResponses")
	if len(f.rounds) == 0 || state == nil && answers == nil {
		return nil
	}
	for i := len(f.rounds) - 1; i >= 0; i-- {
		e := f.rounds[i]
		asked := ParseMessage(e.Response.Raw)
		if bytes.Equal(inside(asked.Result, "requestState"), state) && ParseMessage(e.Request.Raw).Method == m.Method {
			f.rounds = append(f.rounds[:i:i], f.rounds[i+1:]...)
			return e
		}
	}
	return nil
}

func (f *folder) response(frame Frame, m *Message) {
	key := idKey(m.ID)
	if m.namesNone() && f.open[key] == nil {
		key = f.only(frame.Stream)
	}
	e := f.open[key]
	if e == nil {
		f.other(frame, m)
		return
	}
	delete(f.open, key)
	e.Response = frame
	if asksForMore(m.Result) {
		f.rounds = append(f.rounds, e)
	}
}

// only is the key of the request that an answer without an id can belong to:
// that of its HTTP response, or on a pipe the one that is open.
func (f *folder) only(stream int) string {
	for key, e := range f.open {
		if stream == 0 && len(f.open) == 1 || stream > 0 && e == f.streams[stream] {
			return key
		}
	}
	return ""
}

// asksForMore reports a result that says nothing but what the server wants to
// know first.
func asksForMore(result []byte) bool {
	if len(result) > 1<<20 || !bytes.Contains(result, []byte("input_required")) {
		return false
	}
	kind, _ := Text(inside(result, "resultType"))
	return kind == "input_required"
}

// other gives a message that is neither request nor response of the client's to
// the exchange that it speaks of.
func (f *folder) other(frame Frame, m *Message) {
	e := f.about(frame, m)
	blank := len(bytes.Trim(frame.Raw, whiteSpace)) == 0
	if e == nil || blank || m.Kind == Invalid && f.streams[frame.Stream] == nil {
		return
	}
	if m.Kind == Request {
		f.asked[idKey(m.ID)] = e
	}
	e.Between = append(e.Between, frame)
}

func (f *folder) about(frame Frame, m *Message) *Exchange {
	var named *Exchange
	switch {
	case frame.Dir == Sent && m.reply:
		named = f.asked[idKey(m.ID)]
	case m.Method == "notifications/progress":
		named = f.tokens[idKey(inside(m.Params, "progressToken"))]
	case m.Method == "notifications/cancelled" && frame.Dir == Sent:
		named = f.open[idKey(inside(m.Params, "requestId"))]
	}
	if named != nil {
		return named
	}
	if e := f.streams[frame.Stream]; e != nil || len(f.all) == 0 {
		return e
	}
	return f.all[len(f.all)-1]
}

// inside gives the value that stands in raw under one name after the other, or
// nil.
func inside(raw []byte, names ...string) []byte {
	for _, name := range names {
		members, err := Object(raw)
		if err != nil {
			return nil
		}
		raw, _ = members.Get(name)
	}
	return raw
}
