package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpc/internal/pause"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// pieces are a body of which next gives one after the other; with the last one it may give the
// error that ends the body.
type pieces struct {
	io.ReadCloser
	next func() ([]byte, error)
	buf  []byte
	err  error
}

func (b *pieces) Read(to []byte) (int, error) {
	for len(b.buf) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		b.buf, b.err = b.next()
	}
	n := copy(to, b.buf)
	b.buf = b.buf[n:]
	return n, nil
}

// faultyEvents are the events of a stream, as the rules have them.
type faultyEvents struct {
	f       *faulted
	src     io.Reader
	session string
	// buf is what is not a whole event yet, unread a part that is known to have no end in it.
	buf  []byte
	err  error
	seen int64
	// later are events that are to come behind others.
	later lateMessages
	// after tells of the event that has just passed.
	after func()
	// endpoint is where the client of the old transport sends, "" with any other.
	endpoint string
	// blind is set where an event is too long to be judged.
	blind bool
}

// passed tells of the event that has just passed.
func (e *faultyEvents) passed() {
	if e.after != nil {
		e.after()
		e.after = nil
	}
}

// next gives what comes instead of the next event.
func (e *faultyEvents) next() ([]byte, error) {
	f, d := e.f, e.f.fired
	switch {
	case d == nil:
	case d.Name == "cut" && d.Events && e.seen >= d.N:
		f.note(wire.Received, "")
		return nil, f.cut()
	case d.Name == "list-changed" && f.crossing.Message == nil && f.crossing.Session != "" && !f.noted:
		f.note(wire.Received, "")
		return withData([]byte("event: message\n"), d.ListChanged()), nil
	}
	event, err := e.event()
	if event == nil {
		if d != nil && d.Name == "cut" && d.Events {
			f.note(wire.Received, "the response ended before")
		}
		f.idle()
		return append(e.later.All(), e.buf...), err
	}
	if e.blind {
		return event, nil
	}
	ev, _ := sse.NewReader(bytes.NewReader(event), mostMessage).Next()
	if !ev.IsEvent() || ev.Comment {
		return event, nil
	}
	e.seen++
	behind := e.later.Passed()
	out, err := e.judge(event, ev)
	return append(out, behind...), err
}

// judge gives what comes instead of an event.
func (e *faultyEvents) judge(event []byte, ev sse.Event) ([]byte, error) {
	f, d := e.f, e.f.fired
	if ev.Event == "endpoint" {
		e.endpoint = string(ev.Data)
	}
	if !ev.MayCarry() || len(ev.Data) == 0 {
		return event, nil
	}
	m := wire.ParseMessage(ev.Data)
	event, data, passes := e.hold(event, ev, m)
	if !passes {
		return event, nil
	}
	m = wire.ParseMessage(data)
	ev.Data = data
	f.answered(m, e.session)
	answers := f.crossing.Message != nil && f.crossing.Message.Kind == wire.Request && m.Answers(f.crossing.Message.ID)
	if !answers && f.p.Desk.faults.Load() && (m.Kind == wire.Request || m.Kind == wire.Notification) {
		row := f.p.Desk.Row(f.target(), e.session, wire.Received, nil, m)
		if own := f.p.Desk.Fault(Crossing{Row: row, Message: m}); own != nil {
			return e.message(own, event, ev.Data)
		}
	}
	first := e.seen == 1
	switch {
	case d == nil:
	case d.Name == "list-changed" && first && !f.noted &&
		(f.crossing.Message == nil || f.crossing.Message.Method == "subscriptions/listen"):
		f.note(wire.Received, "")
		return append(event, withData([]byte("event: message\n"), d.ListChanged())...), nil
	case d.Name == "drop response" && answers:
		f.note(wire.Received, "")
		return nil, f.hold()
	case d.Name == "reorder" && first, d.Name != "reorder" && answers && !f.noted:
		return e.message(d, event, ev.Data)
	}
	return event, nil
}

// message gives what a rule makes of an event.
func (e *faultyEvents) message(d *Decision, event, data []byte) ([]byte, error) {
	own := d != e.f.fired
	if own && d.Name == "delay" {
		e.f.noteOf(d, wire.Received, "")
		return event, pause.For(e.f.req.Context(), d.Wait)
	}
	if d.Name == "reorder" {
		e.f.noteOf(d, wire.Received, "")
		e.later = append(e.later, lateMessage{Message: event, After: d.N})
		return nil, nil
	}
	messages, done := d.Message(data)
	if !done {
		return event, nil
	}
	e.f.noteOf(d, wire.Received, "")
	var out []byte
	for _, message := range messages {
		if bytes.Equal(message, data) {
			out = append(out, event...)
		} else {
			out = append(out, withData(event, message)...)
		}
	}
	return out, nil
}

// withData is an event with other data.
func withData(event, data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(event) {
		name, _, _ := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		if name != "data" && name != "" {
			out = append(out, line...)
		}
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		out = append(append(append(out, "data: "...), line...), '\n')
	}
	return append(out, '\n')
}

// event gives the next event with the blank line that ends it, as it came. With an error there is
// no event; what is left is in buf.
func (e *faultyEvents) event() ([]byte, error) {
	for from := 0; ; {
		if at := eventEnd(e.buf[from:]); at >= 0 {
			event := slices.Clip(e.buf[:from+at]) // something may be appended
			e.buf = e.buf[from+at:]
			return event, nil
		}
		if e.err != nil {
			return nil, e.err
		}
		if len(e.buf) > mostMessage || e.blind {
			e.blind = true
			event := e.buf
			e.buf = nil
			if len(event) > 0 {
				return event, nil
			}
		}
		from = max(0, len(e.buf)-3)
		room := make([]byte, readSize)
		n, err := e.src.Read(room)
		e.buf = append(e.buf, room[:n]...)
		e.err = err
	}
}

// pace does what concerns the bytes of a response, whatever they say.
func (f *faulted) pace(resp *http.Response) {
	d := f.fired
	src := resp.Body
	if d.Name == "cut" && !d.Events {
		resp.Body = &pieces{ReadCloser: src, next: f.cutting(src, d.N)}
		return
	}
	if p := d.Pace(); p.Size > 0 {
		f.note(wire.Received, "")
		resp.Body = &pieces{ReadCloser: src, next: f.paced(src, p)}
	}
}

// readSize is how much is read of a response at once.
const readSize = 16 << 10

// cutting gives the first bytes of a response.
func (f *faulted) cutting(src io.Reader, left int64) func() ([]byte, error) {
	return func() ([]byte, error) {
		if left <= 0 {
			f.note(wire.Received, "")
			return nil, f.cut()
		}
		piece := make([]byte, min(left, readSize))
		n, err := src.Read(piece)
		left -= int64(n)
		if errors.Is(err, io.EOF) {
			f.note(wire.Received, "the response ended before")
		}
		return piece[:n], err
	}
}

// paced gives a response slowly.
func (f *faulted) paced(src io.Reader, p Pace) func() ([]byte, error) {
	var wait time.Duration
	return func() ([]byte, error) {
		if err := pause.For(f.req.Context(), wait); err != nil {
			return nil, err
		}
		piece := make([]byte, p.Size)
		n, err := src.Read(piece)
		wait = p.Wait * time.Duration(n) / time.Duration(p.Size)
		if p.Once {
			wait = p.Wait
			p = Pace{Size: readSize}
		}
		return piece[:n], err
	}
}

// watchEvents replaces the body of an event stream: as long as there is nothing to judge its bytes pass as they come.
func (f *faulted) watchEvents(resp *http.Response) {
	e := &faultyEvents{f: f, src: resp.Body, session: f.sessionOf(resp)}
	resp.Body = &eventBody{pieces: pieces{ReadCloser: resp.Body, next: e.next}, e: e}
}

// An eventBody is a stream of events that passes as it comes while there is nothing to judge, and
// event by event from the next one on where there is.
type eventBody struct {
	pieces
	e *faultyEvents
	// inside is set where a part of an event has passed, tail are the last bytes of it.
	inside bool
	tail   []byte
}

func (b *eventBody) Read(to []byte) (int, error) {
	e := b.e
	if len(b.buf) == 0 {
		e.passed()
	}
	if len(b.buf)+len(e.buf)+len(e.later) > 0 || b.err != nil || e.err != nil || e.f.fired != nil ||
		e.f.p.Desk.judges() && !b.inside {
		return b.pieces.Read(to)
	}
	n, err := b.ReadCloser.Read(to)
	if n == 0 || !e.f.p.Desk.judges() {
		b.pass(to[:n])
		return n, err
	}
	passes := 0
	if b.inside {
		passes = n
		if end := eventEnd(append(b.tail, to[:n]...)); end >= 0 {
			passes = max(end-len(b.tail), 0)
		}
	}
	b.pass(to[:passes])
	if passes == n {
		return n, err
	}
	e.buf = bytes.Clone(to[passes:n])
	e.err = err
	b.inside = false
	if passes > 0 {
		return passes, nil
	}
	return b.pieces.Read(to)
}

func (b *eventBody) Close() error {
	b.e.passed()
	return b.ReadCloser.Close()
}

// pass notes where in an event the stream is.
func (b *eventBody) pass(passed []byte) {
	if len(passed) == 0 {
		return
	}
	last := bytes.Clone(passed[max(0, len(passed)-4):])
	if len(passed) < 4 {
		last = append(b.tail, passed...)
	}
	for end := eventEnd(last); end >= 0; end = eventEnd(last) {
		last = bytes.TrimLeft(last[end:], "\r\n")
	}
	b.inside = len(last) > 0
	b.tail = last[max(0, len(last)-4):]
}
