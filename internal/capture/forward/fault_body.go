package forward

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"mcpc/internal/capture/fault"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A faultyBody is a body of which next gives the pieces; with the last one it may give the error
// that ends the body.
type faultyBody struct {
	io.ReadCloser
	next func() ([]byte, error)
	buf  []byte
	err  error
}

func (b *faultyBody) Read(to []byte) (int, error) {
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
	later []laterEvent
	// blind is set where an event is too long to be judged.
	blind bool
}

type laterEvent struct {
	event []byte
	after int64
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
		return e.flush(), err
	}
	if e.blind {
		return event, nil
	}
	ev, _ := sse.NewReader(bytes.NewReader(event), mostMessage).Next()
	if !ev.IsEvent() || ev.Comment {
		return event, nil
	}
	e.seen++
	out, err := e.judge(event, ev)
	for i := range e.later {
		if e.later[i].after--; e.later[i].after < 0 {
			out = append(out, e.later[i].event...)
		}
	}
	for len(e.later) > 0 && e.later[0].after < 0 {
		e.later = e.later[1:]
	}
	return out, err
}

// flush gives the events that waited for others in vain.
func (e *faultyEvents) flush() (out []byte) {
	for _, l := range e.later {
		out = append(out, l.event...)
	}
	out = append(out, e.buf...)
	e.later, e.buf = nil, nil
	return out
}

// judge gives what comes instead of an event.
func (e *faultyEvents) judge(event []byte, ev sse.Event) ([]byte, error) {
	f, d := e.f, e.f.fired
	if !ev.MayCarry() || len(ev.Data) == 0 {
		return event, nil
	}
	m := wire.ParseMessage(ev.Data)
	f.answered(m, e.session)
	answers := f.crossing.Message != nil && f.crossing.Message.Kind == wire.Request && m.Answers(f.crossing.Message.ID)
	if !answers && (m.Kind == wire.Request || m.Kind == wire.Notification) {
		if own := f.p.Faults.Decide(fault.Crossing{Row: f.p.Faults.Live.Row(f.crossing.Row.Target, e.session, wire.Received, nil, m), Message: m}); own != nil {
			return e.message(own, event, ev.Data)
		}
	}
	switch {
	case d == nil:
	case d.Name == "reorder" && e.seen == 1:
		return e.message(d, event, ev.Data)
	case d.Name == "list-changed":
		streams := f.crossing.Message == nil || f.crossing.Message.Method == "subscriptions/listen"
		if streams && e.seen == 1 && !f.noted {
			f.note(wire.Received, "")
			return append(bytes.Clone(event), withData([]byte("event: message\n"), d.ListChanged())...), nil
		}
		if answers && !streams {
			return e.message(d, event, ev.Data)
		}
	case d.Name == "drop response" && answers:
		f.note(wire.Received, "")
		return nil, f.hold()
	case answers && d.Name != "reorder":
		return e.message(d, event, ev.Data)
	}
	return event, nil
}

// message gives what a rule makes of an event.
func (e *faultyEvents) message(d *fault.Decision, event, data []byte) ([]byte, error) {
	own := d != e.f.fired
	switch {
	case own && d.Name == "delay":
		e.f.noteOf(d, wire.Received, "")
		return event, fault.Wait(e.f.req.Context(), d.Wait)
	case d.Name == "reorder":
		e.f.noteOf(d, wire.Received, "")
		e.later = append(e.later, laterEvent{event, d.N})
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
			event := e.buf[:from+at]
			e.buf = e.buf[from+at:]
			return event, nil
		}
		if e.err != nil {
			return nil, e.err
		}
		if len(e.buf) > mostMessage || e.blind {
			e.blind = true
			event := e.buf
			if e.buf = nil; len(event) > 0 {
				return event, nil
			}
		}
		from = max(0, len(e.buf)-3)
		room := make([]byte, 16<<10)
		n, err := e.src.Read(room)
		e.buf, e.err = append(e.buf, room[:n]...), err
		if from > len(e.buf) {
			from = 0
		}
	}
}

// pace does what concerns the bytes of a response, whatever they say.
func (f *faulted) pace(resp *http.Response) {
	d := f.fired
	if d == nil {
		return
	}
	b := &pacedBody{ReadCloser: resp.Body, f: f}
	switch {
	case d.Name == "throttle":
		b.most, b.wait = max(1, int(d.N)/20), 0
	case d.Name == "slow-loris":
		b.most, b.wait = 1, d.Wait
	case d.Name == "cut" && !d.Events:
		b.left = d.N
	case d.Name == "stall":
	default:
		return
	}
	if d.Name != "cut" {
		f.note(wire.Received, "")
	}
	resp.Body = b
}

// A pacedBody comes slowly, or ends early.
type pacedBody struct {
	io.ReadCloser
	f *faulted
	// most is how many bytes come at once, wait the time between them.
	most int
	wait time.Duration
	left int64
	read int64
}

func (b *pacedBody) Read(to []byte) (int, error) {
	d := b.f.fired
	first := b.read == 0
	switch d.Name {
	case "cut":
		if b.left <= 0 {
			b.f.note(wire.Received, "")
			return 0, b.f.cut()
		}
		to = to[:min(len(to), int(min(b.left, 1<<30)))]
	case "stall":
		if first {
			to = to[:min(len(to), 64)]
		}
	default:
		to = to[:min(len(to), b.most)]
	}
	if !first && (d.Name == "slow-loris" || d.Name == "stall" && b.wait == 0) {
		if b.wait = d.Wait; d.Name == "stall" {
			b.wait = -1
		}
		if err := fault.Wait(b.f.req.Context(), d.Wait); err != nil {
			return 0, err
		}
	}
	n, err := b.ReadCloser.Read(to)
	b.read, b.left = b.read+int64(n), b.left-int64(n)
	if d.Name == "throttle" && n > 0 {
		if err := fault.Wait(b.f.req.Context(), time.Duration(n)*time.Second/time.Duration(d.N)); err != nil {
			return n, err
		}
	}
	if d.Name == "cut" && errors.Is(err, io.EOF) {
		b.f.note(wire.Received, "the response ended before")
	}
	return n, err
}
