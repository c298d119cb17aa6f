package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// hold lets the desk decide about a message, and gives the line that passes instead. The message
// is nil where fault rules have nothing to decide any more. Those behind it wait.
func (p *Pipe) hold(line []byte, m *wire.Message, row *rows.Row) ([]byte, *wire.Message) {
	if !p.Desk.Holds() {
		return line, m
	}
	w := p.Watcher
	v := p.Desk.Hold(p.Context, Candidate{Message: m, Row: row, Note: func(facts wire.HeldFacts, raw []byte) {
		note := func() { w.do(func() { w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Held, Held: &facts, Raw: raw}) }) }
		switch {
		case follows(facts, row):
			p.after = note
			return
		case facts.How == Answered && row.Dir == wire.Received:
			is := raw
			w.do(func() { w.frame(wire.Frame{Dir: row.Dir, Kind: wire.Body, Raw: is}) })
			raw = nil
		}
		note()
	}})
	switch v.How {
	case Dropped:
		return nil, nil
	case Edited:
		return slices.Concat(jsonraw.OneLine(v.Raw), line[len(m.Raw):]), parsed(v.Raw)
	case Answered:
		p.answer(row.Dir, wire.ComposeResult(m.ID, jsonraw.OneLine(v.Raw)))
		return nil, nil
	}
	return line, m
}

// follows reports what is recorded behind the message, which begins something: a request of the
// server, or a notification.
func follows(facts wire.HeldFacts, row *rows.Row) bool {
	return row.Dir == wire.Received && facts.Kind != "response" && (facts.How == Released || facts.How == Edited)
}

// answer answers a request that was sent in a direction in the place of the other side.
func (p *Pipe) answer(dir wire.Direction, answer []byte) {
	to := &p.out
	if dir == wire.Received {
		to = &p.in
		p.Watcher.do(func() { p.Watcher.frame(wire.Frame{Dir: wire.Sent, Kind: wire.Body, Raw: answer}) })
	}
	_ = to.Lines(append(bytes.Clone(answer), '\n')) // one that is gone is told so by its own end of the pipe
}

// parsed is a message about which fault rules can decide, or nil.
func parsed(raw []byte) *wire.Message {
	if m := wire.ParseMessage(raw); m.Kind != wire.Batch && m.Kind != wire.Invalid {
		return m
	}
	return nil
}

// ownKey marks the context of a request that the Proxy sends itself.
type ownKey struct{}

// noteHeld tells the Watcher of a message that is held. Of one that was answered and did not reach
// the client, seen tells first.
func (f *faulted) noteHeld(dir wire.Direction, seen func()) func(wire.HeldFacts, []byte) {
	return func(facts wire.HeldFacts, raw []byte) {
		f.p.Watcher.do(func() {
			f.x.seeSent()
			if facts.How == Answered && seen != nil {
				seen()
				raw = nil
			}
			f.x.frame(wire.Frame{Dir: dir, Kind: wire.Held, Held: &facts, Raw: raw})
		})
	}
}

// holdRequest lets the desk decide about a request. It gives the response where nothing is sent
// to the server, or an error where the client has none to expect.
func (f *faulted) holdRequest() (*http.Response, error) {
	m := f.crossing.Message
	if m == nil || !f.p.Desk.Holds() {
		return nil, nil
	}
	v := f.p.Desk.Hold(f.req.Context(), Candidate{Message: m, Row: f.crossing.Row, Note: f.noteHeld(wire.Sent, nil)})
	switch {
	case f.req.Context().Err() != nil:
		return nil, f.req.Context().Err()
	case v.How == Dropped && m.Kind == wire.Request:
		return nil, f.hold()
	case v.How == Dropped:
		return f.made(http.StatusAccepted, http.Header{}, nil), nil
	case v.How == Answered:
		return f.made(http.StatusOK, http.Header{"Content-Type": {"application/json"}}, wire.ComposeResult(m.ID, v.Raw)), nil
	case v.How != Edited:
		return nil, nil
	}
	Mirror(f.req.Header, m.Raw, v.Raw, f.p.Desk.Encode)
	f.setBody(v.Raw)
	if f.crossing.Message = parsed(v.Raw); f.crossing.Message == nil {
		f.crossing.Message = m
		return f.forward()
	}
	return nil, nil
}

// holdResponse lets the desk decide about a response that is one message, and gives what passes.
func (f *faulted) holdResponse(resp *http.Response, m *wire.Message, session string) ([]byte, error) {
	if m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return m.Raw, nil
	}
	v := f.p.Desk.Hold(f.req.Context(), Candidate{Message: m, Row: f.rowOf(m, session), Note: f.noteHeld(wire.Received, nil)})
	switch v.How {
	case Dropped:
		return nil, f.hold()
	case Edited:
		setBody(resp, v.Raw)
		return v.Raw, nil
	}
	return m.Raw, nil
}

// rowOf is what filters are asked about a message of the server.
func (f *faulted) rowOf(m *wire.Message, session string) *rows.Row {
	if asked := f.crossing.Message; asked != nil && m.Answers(asked.ID) {
		row := *f.crossing.Row
		row.Dir = wire.Received
		return &row
	}
	return f.p.Desk.Row(f.target(), session, wire.Received, nil, m)
}

// hold lets the desk decide about an event, and gives what passes instead, and its data.
func (e *faultyEvents) hold(event []byte, ev sse.Event, m *wire.Message) (is, data []byte, passes bool) {
	f := e.f
	if !f.p.Desk.Holds() || m.Kind == wire.Invalid || m.Kind == wire.Batch {
		return event, ev.Data, true
	}
	row, note := f.rowOf(m, e.session), f.noteHeld(wire.Received, func() { f.x.seeEvent(ev) })
	v := f.p.Desk.Hold(f.req.Context(), Candidate{Message: m, Row: row, Note: func(facts wire.HeldFacts, raw []byte) {
		if follows(facts, row) {
			e.after = func() { note(facts, raw) }
			return
		}
		note(facts, raw)
	}})
	switch v.How {
	case Dropped:
		return nil, nil, false
	case Edited:
		return withData(event, v.Raw), v.Raw, true
	case Answered:
		f.reply(e.endpoint, e.session, wire.ComposeResult(m.ID, v.Raw))
		return nil, nil, false
	}
	return event, ev.Data, true
}

// reply sends the server the answer to its request in the client's place: where the client asks, or
// where the old transport says.
func (f *faulted) reply(endpoint, session string, answer []byte) {
	at, err := f.req.URL.Parse(endpoint)
	if err != nil {
		return
	}
	req := f.req.Clone(context.WithValue(f.req.Context(), ownKey{}, true))
	req.Method, req.URL, req.ContentLength, req.Body = http.MethodPost, at, int64(len(answer)), io.NopCloser(bytes.NewReader(answer))
	for _, name := range []string{"Last-Event-Id", "Mcp-Method", "Mcp-Name", "Content-Length", "Content-Encoding"} {
		req.Header.Del(name)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := f.p.RoundTrip(req)
	if err == nil { // what it says is recorded
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, mostMessage))
		resp.Body.Close()
	}
}
