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
type eventRewriter struct {
	f       *faultedRequest
	src     io.Reader
	session string
	// buf is what is not a whole event yet, unread a part that is known to have no end in it.
	buf   []byte
	err   error
	count int64
	// later are events that are to come behind others.
	delayed delayedMessages
	// after tells of the event that has just passed.
	onPassed func()
	// endpoint is where the client of the old transport sends, "" with any other.
	endpoint string
	// blind is set where an event is too long to be judged.
	passesRest bool
}

// passed tells of the event that has just passed.
func (e *eventRewriter) reportPassed() {
	if e.onPassed != nil {
		e.onPassed()
		e.onPassed = nil
	}
}

// next gives what comes instead of the next event.
func (e *eventRewriter) next() ([]byte, error) {
	f, d := e.f, e.f.fired
	switch {
	case d == nil:
	case d.Name == "cut" && d.Events && e.count >= d.N:
		f.record(wire.Received, "")
		return nil, f.cutConnection()
	case d.Name == "list-changed" && f.subject.Message == nil && f.subject.Session != "" && !f.recorded:
		f.record(wire.Received, "")
		return replaceData([]byte("event: message\n"), d.listChanged()), nil
	}
	event, err := e.readEvent()
	if event == nil {
		if d != nil && d.Name == "cut" && d.Events {
			f.record(wire.Received, "the response ended before")
		}
		f.recordUnchanged()
		return append(e.delayed.drain(), e.buf...), err
	}
	if e.passesRest {
		return event, nil
	}
	ev, _ := sse.NewReader(bytes.NewReader(event), maxMessage).Next()
	if !ev.IsEvent() || ev.Comment {
		return event, nil
	}
	e.count++
	behind := e.delayed.advance()
	out, err := e.rewrite(event, ev)
	return append(out, behind...), err
}

// judge gives what comes instead of an event.
func (e *eventRewriter) rewrite(event []byte, ev sse.Event) ([]byte, error) {
	f, d := e.f, e.f.fired
	if ev.Event == "endpoint" {
		e.endpoint = string(ev.Data)
	}
	if !ev.MayCarry() || len(ev.Data) == 0 {
		return event, nil
	}
	m := wire.ParseMessage(ev.Data)
	event, data, passes := e.holdEvent(event, ev, m)
	if !passes {
		return event, nil
	}
	m = wire.ParseMessage(data)
	ev.Data = data
	f.learnServer(m, e.session)
	answers := f.subject.Message != nil && f.subject.Message.Kind == wire.Request && m.Answers(f.subject.Message.ID)
	if !answers && f.p.Desk.hasRules.Load() && (m.Kind == wire.Request || m.Kind == wire.Notification) {
		row := f.p.Desk.Row(f.target(), e.session, wire.Received, nil, m)
		if own := f.p.Desk.Fault(subject{Row: row, Message: m}); own != nil {
			return e.applyRule(own, event, ev.Data)
		}
	}
	first := e.count == 1
	switch {
	case d == nil:
	case d.Name == "list-changed" && first && !f.recorded &&
		(f.subject.Message == nil || f.subject.Message.Method == "subscriptions/listen"):
		f.record(wire.Received, "")
		return append(event, replaceData([]byte("event: message\n"), d.listChanged())...), nil
	case d.Name == "drop response" && answers:
		f.record(wire.Received, "")
		return nil, f.waitForClient()
	case d.Name == "reorder" && first, d.Name != "reorder" && answers && !f.recorded:
		return e.applyRule(d, event, ev.Data)
	}
	return event, nil
}

// message gives what a rule makes of an event.
func (e *eventRewriter) applyRule(d *decision, event, data []byte) ([]byte, error) {
	own := d != e.f.fired
	if own && d.Name == "delay" {
		e.f.recordDecision(d, wire.Received, "")
		return event, pause.For(e.f.req.Context(), d.Wait)
	}
	if d.Name == "reorder" {
		e.f.recordDecision(d, wire.Received, "")
		e.delayed = append(e.delayed, delayedMessage{raw: event, remaining: d.N})
		return nil, nil
	}
	messages, done := d.changedMessages(data)
	if !done {
		return event, nil
	}
	e.f.recordDecision(d, wire.Received, "")
	var out []byte
	for _, message := range messages {
		if bytes.Equal(message, data) {
			out = append(out, event...)
		} else {
			out = append(out, replaceData(event, message)...)
		}
	}
	return out, nil
}

// withData is an event with other data.
func replaceData(event, data []byte) []byte {
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
func (e *eventRewriter) readEvent() ([]byte, error) {
	for searched := 0; ; {
		if at := eventEnd(e.buf[searched:]); at >= 0 {
			event := slices.Clip(e.buf[:searched+at]) // something may be appended
			e.buf = e.buf[searched+at:]
			return event, nil
		}
		if e.err != nil {
			return nil, e.err
		}
		if len(e.buf) > maxMessage || e.passesRest {
			e.passesRest = true
			event := e.buf
			e.buf = nil
			if len(event) > 0 {
				return event, nil
			}
		}
		searched = max(0, len(e.buf)-3)
		piece := make([]byte, readSize)
		n, err := e.src.Read(piece)
		e.buf = append(e.buf, piece[:n]...)
		e.err = err
	}
}

// pace does what concerns the bytes of a response, whatever they say.
func (f *faultedRequest) applyPace(resp *http.Response) {
	d := f.fired
	src := resp.Body
	if d.Name == "cut" && !d.Events {
		resp.Body = &pieces{ReadCloser: src, next: f.cutAfter(src, d.N)}
		return
	}
	if p := d.responsePace(); p.size > 0 {
		f.record(wire.Received, "")
		resp.Body = &pieces{ReadCloser: src, next: f.slowDown(src, p)}
	}
}

// readSize is how much is read of a response at once.
const readSize = 16 << 10

// cutting gives the first bytes of a response.
func (f *faultedRequest) cutAfter(src io.Reader, left int64) func() ([]byte, error) {
	return func() ([]byte, error) {
		if left <= 0 {
			f.record(wire.Received, "")
			return nil, f.cutConnection()
		}
		piece := make([]byte, min(left, readSize))
		n, err := src.Read(piece)
		left -= int64(n)
		if errors.Is(err, io.EOF) {
			f.record(wire.Received, "the response ended before")
		}
		return piece[:n], err
	}
}

// paced gives a response slowly.
func (f *faultedRequest) slowDown(src io.Reader, p pace) func() ([]byte, error) {
	var wait time.Duration
	return func() ([]byte, error) {
		if err := pause.For(f.req.Context(), wait); err != nil {
			return nil, err
		}
		piece := make([]byte, p.size)
		n, err := src.Read(piece)
		wait = p.wait * time.Duration(n) / time.Duration(p.size)
		if p.once {
			wait = p.wait
			p = pace{size: readSize}
		}
		return piece[:n], err
	}
}

// watchEvents replaces the body of an event stream: as long as there is nothing to judge its bytes pass as they come.
func (f *faultedRequest) watchEvents(resp *http.Response) {
	e := &eventRewriter{f: f, src: resp.Body, session: f.sessionOf(resp)}
	resp.Body = &eventBody{pieces: pieces{ReadCloser: resp.Body, next: e.next}, events: e}
}

// An eventBody is a stream of events that passes as it comes while there is nothing to judge, and
// event by event from the next one on where there is.
type eventBody struct {
	pieces
	events *eventRewriter
	// inside is set where a part of an event has passed, tail are the last bytes of it.
	inEvent bool
	tail    []byte
}

func (b *eventBody) Read(to []byte) (int, error) {
	e := b.events
	if len(b.buf) == 0 {
		e.reportPassed()
	}
	if len(b.buf)+len(e.buf)+len(e.delayed) > 0 || b.err != nil || e.err != nil || e.f.fired != nil ||
		e.f.p.Desk.mayIntervene() && !b.inEvent {
		return b.pieces.Read(to)
	}
	n, err := b.ReadCloser.Read(to)
	if n == 0 || !e.f.p.Desk.mayIntervene() {
		b.trackEvents(to[:n])
		return n, err
	}
	passes := 0
	if b.inEvent {
		passes = n
		if end := eventEnd(append(b.tail, to[:n]...)); end >= 0 {
			passes = max(end-len(b.tail), 0)
		}
	}
	b.trackEvents(to[:passes])
	if passes == n {
		return n, err
	}
	e.buf = bytes.Clone(to[passes:n])
	e.err = err
	b.inEvent = false
	if passes > 0 {
		return passes, nil
	}
	return b.pieces.Read(to)
}

func (b *eventBody) Close() error {
	b.events.reportPassed()
	return b.ReadCloser.Close()
}

// pass notes where in an event the stream is.
func (b *eventBody) trackEvents(passed []byte) {
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
	b.inEvent = len(last) > 0
	b.tail = last[max(0, len(last)-4):]
}
