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

// pieces is a body that next returns piece by piece. With the last piece, next may return the error
// that ends the body.
type pieces struct {
	io.ReadCloser
	next func() ([]byte, error)
	buf  []byte
	err  error
}

// Read returns the current piece, or as much of it as fits, and calls next when all of it was
// returned.
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

// An eventRewriter applies rules and filters to the events of a stream.
type eventRewriter struct {
	request *faultedRequest
	source  io.Reader
	session string
	unread  []byte // bytes that were read from source and not returned yet
	readErr error  // the error after unread
	count   int64  // of events
	// delayed holds events that are sent after later ones.
	delayed delayedMessages
	// recordPassed records the end of the hold of the last event; nil if the event was not held.
	recordPassed func()
	// endpoint is the endpoint of the old transport, or "".
	endpoint string
	// passesRest is set after an event that was too long: the rest of the stream passes unchanged.
	passesRest bool
}

// flushPassed records that the last event, if it was held, has passed.
func (e *eventRewriter) flushPassed() {
	if e.recordPassed != nil {
		e.recordPassed()
		e.recordPassed = nil
	}
}

// next returns what the client receives in place of the next event, or "" if the client receives
// nothing. With the last bytes it returns the error that ends the stream.
func (e *eventRewriter) next() ([]byte, error) {
	f := e.request
	d := f.fired
	cutsAfterEvent := d != nil && d.Name == actionCut && d.Events
	if cutsAfterEvent && e.count >= d.N {
		f.recordFault(wire.Received, "")
		return nil, f.cutConnection()
	}
	isSessionStream := f.subject.Message == nil && f.subject.Session != ""
	// A session's own stream may stay silent, so list-changed does not wait for an event there.
	if d != nil && d.Name == actionListChanged && isSessionStream && !f.recorded {
		f.recordFault(wire.Received, "")
		return replaceData([]byte("event: message\n"), d.composeListChanged()), nil
	}
	event, err := e.readEvent()
	if event == nil {
		if cutsAfterEvent {
			f.recordFault(wire.Received, "the response ended before")
		}
		f.recordUnchangedOnce()
		return append(e.delayed.drain(), e.unread...), err // an incomplete event passes
	}
	if e.passesRest {
		return event, nil
	}
	ev, _ := sse.NewReader(bytes.NewReader(event), maxMessage).Next()
	if !ev.IsEvent() || ev.IsComment {
		return event, nil
	}
	e.count++
	// Before rewrite, which may delay this event: it must not count itself.
	due := e.delayed.advance()
	out, err := e.rewrite(event, ev)
	return append(out, due...), err
}

// rewrite returns what the client receives in place of an event, or nil if the client receives
// nothing. An error closes the connection.
func (e *eventRewriter) rewrite(event []byte, ev sse.Event) ([]byte, error) {
	f := e.request
	d := f.fired
	if ev.Event == "endpoint" {
		e.endpoint = string(ev.Data)
	}
	if !ev.MayCarryMessage() || len(ev.Data) == 0 {
		return event, nil
	}
	m := wire.ParseMessage(ev.Data)
	event, data, passes := e.holdEvent(event, ev, m)
	if !passes {
		return nil, nil
	}
	m = wire.ParseMessage(data) // the user may have edited it
	ev.Data = data
	f.learnServer(m, e.session)
	request := f.subject.Message // nil on a GET stream
	isResponse := request != nil && request.Kind == wire.Request && m.IsResponseTo(request.ID)
	isFromServer := !isResponse && (m.Kind == wire.Request || m.Kind == wire.Notification)
	if isFromServer && f.p.Desk.mayFire.Load() {
		row := f.p.Desk.Row(f.target(), e.session, wire.Received, nil, m)
		if serverDecision := f.p.Desk.fireRule(subject{Row: row, Message: m}); serverDecision != nil {
			return e.applyRule(serverDecision, event, ev.Data)
		}
	}
	if d == nil {
		return event, nil
	}
	isFirst := e.count == 1
	// The client is listening for notifications only on these streams.
	isSubscription := request == nil || request.Method == "subscriptions/listen"
	if d.Name == actionListChanged && isFirst && isSubscription && !f.recorded {
		f.recordFault(wire.Received, "")
		return append(event, replaceData([]byte("event: message\n"), d.composeListChanged())...), nil
	}
	if d.Name == actionDropResponse && isResponse {
		f.recordFault(wire.Received, "")
		return nil, f.waitForClient()
	}
	applies := isResponse && !f.recorded
	if d.Name == actionReorder { // it moves the first event, which may be a notification
		applies = isFirst
	}
	if !applies {
		return event, nil
	}
	return e.applyRule(d, event, ev.Data)
}

// applyRule returns what the client receives in place of an event that a rule applies to.
func (e *eventRewriter) applyRule(d *decision, event, data []byte) ([]byte, error) {
	isForEvent := d != e.request.fired       // the rule fired for this event, not for the request
	if isForEvent && d.Name == actionDelay { // the head of a response to a request is delayed instead
		e.request.recordDecision(d, wire.Received, "")
		return event, pause.For(e.request.req.Context(), d.Wait)
	}
	if d.Name == actionReorder {
		e.request.recordDecision(d, wire.Received, "")
		e.delayed = append(e.delayed, delayedMessage{raw: event, remaining: d.N})
		return nil, nil
	}
	messages, changed := d.changeForClient(data)
	if !changed {
		return event, nil
	}
	e.request.recordDecision(d, wire.Received, "")
	var out []byte
	for _, message := range messages {
		// An unchanged message keeps the bytes of its event.
		if bytes.Equal(message, data) {
			out = append(out, event...)
		} else {
			out = append(out, replaceData(event, message)...)
		}
	}
	return out, nil
}

// replaceData returns the event with other data, one data line for each line of it, after the other
// fields.
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

// readEvent returns the next event with the blank line after it. After an event of more than maxMessage
// bytes it returns the rest of the stream in pieces. With an error it returns no event, and unread has
// the rest of the stream.
func (e *eventRewriter) readEvent() ([]byte, error) {
	for searched := 0; ; {
		if length := eventEnd(e.unread[searched:]); length >= 0 {
			event := slices.Clip(e.unread[:searched+length]) // callers append to it
			e.unread = e.unread[searched+length:]
			return event, nil
		}
		if e.readErr != nil {
			return nil, e.readErr
		}
		if len(e.unread) > maxMessage || e.passesRest {
			e.passesRest = true
			event := e.unread
			e.unread = nil
			if len(event) > 0 {
				return event, nil
			}
		}
		searched = max(0, len(e.unread)-maxEventEnd+1) // the end of the event may have begun
		piece := make([]byte, readSize)
		n, err := e.source.Read(piece)
		e.unread = append(e.unread, piece[:n]...)
		e.readErr = err
	}
}

// applyPace cuts or slows down the body of the response, if the rule's action does that.
func (f *faultedRequest) applyPace(resp *http.Response) {
	d := f.fired
	src := resp.Body
	if d.Name == actionCut && !d.Events {
		resp.Body = &pieces{ReadCloser: src, next: f.cutAfter(src, d.N)}
		return
	}
	if p := d.pace(); p.size > 0 {
		f.recordFault(wire.Received, "")
		resp.Body = &pieces{ReadCloser: src, next: f.slowDown(src, p)}
	}
}

// readSize is how many bytes of a response are read at once.
const readSize = 16 << 10

// cutAfter returns a function that reads the body up to a number of bytes, and then cuts the
// connection.
func (f *faultedRequest) cutAfter(src io.Reader, remaining int64) func() ([]byte, error) {
	return func() ([]byte, error) {
		if remaining <= 0 {
			f.recordFault(wire.Received, "")
			return nil, f.cutConnection()
		}
		piece := make([]byte, min(remaining, readSize))
		n, err := src.Read(piece)
		remaining -= int64(n)
		if errors.Is(err, io.EOF) {
			f.recordFault(wire.Received, "the response ended before")
		}
		return piece[:n], err
	}
}

// slowDown returns a function that reads the body at a pace: each call waits as long as the
// previous piece demands.
func (f *faultedRequest) slowDown(src io.Reader, p pace) func() ([]byte, error) {
	var wait time.Duration
	return func() ([]byte, error) {
		if err := pause.For(f.req.Context(), wait); err != nil {
			return nil, err
		}
		piece := make([]byte, p.size)
		n, err := src.Read(piece)
		wait = p.wait * time.Duration(n) / time.Duration(p.size)
		if p.firstOnly {
			wait = p.wait
			p = pace{size: readSize}
		}
		return piece[:n], err
	}
}

// watchEvents replaces the body of an event stream. Its bytes pass unchanged as long as no rule or
// filter is set.
func (f *faultedRequest) watchEvents(resp *http.Response) {
	e := &eventRewriter{request: f, source: resp.Body, session: f.sessionID(resp)}
	resp.Body = &eventBody{pieces: pieces{ReadCloser: resp.Body, next: e.next}, events: e}
}

// An eventBody is a stream of events. It passes bytes unchanged while no rule or filter is set, and
// otherwise event by event, beginning with the next one.
type eventBody struct {
	pieces
	events  *eventRewriter
	inEvent bool   // the beginning of the current event has passed
	tail    []byte // the last bytes of that beginning
}

// Read passes to the rewriter if it has bytes left, if a rule fired for the request, or if the Desk
// may intervene and no event is under way. Otherwise it reads the stream itself.
func (b *eventBody) Read(to []byte) (int, error) {
	e := b.events
	if len(b.buf) == 0 {
		e.flushPassed()
	}
	desk := e.request.p.Desk
	hasUnread := len(b.buf)+len(e.unread)+len(e.delayed) > 0 || b.err != nil || e.readErr != nil
	mayBeginEvent := !b.inEvent && desk.mayIntervene()
	if hasUnread || e.request.fired != nil || mayBeginEvent {
		return b.pieces.Read(to)
	}
	n, err := b.ReadCloser.Read(to)
	if n == 0 || !desk.mayIntervene() {
		b.trackEvents(to[:n])
		return n, err
	}
	// A rule or filter was set while the read waited: the current event still passes unchanged.
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
	e.unread = bytes.Clone(to[passes:n])
	e.readErr = err
	b.inEvent = false
	if passes > 0 {
		return passes, nil
	}
	return b.pieces.Read(to)
}

func (b *eventBody) Close() error {
	b.events.flushPassed()
	return b.ReadCloser.Close()
}

// maxEventEnd is the length of the longest end of an event: \r\n\r\n.
const maxEventEnd = 4

// trackEvents updates inEvent and tail after bytes have passed.
func (b *eventBody) trackEvents(passed []byte) {
	if len(passed) == 0 {
		return
	}
	last := bytes.Clone(passed[max(0, len(passed)-maxEventEnd):])
	if len(passed) < maxEventEnd {
		last = append(b.tail, passed...)
	}
	// What follows the last blank line is the beginning of an event.
	for end := eventEnd(last); end >= 0; end = eventEnd(last) {
		last = bytes.TrimLeft(last[end:], "\r\n")
	}
	b.inEvent = len(last) > 0
	b.tail = last[max(0, len(last)-maxEventEnd):]
}
