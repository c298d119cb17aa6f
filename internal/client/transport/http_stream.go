package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/recent"
	"mcpc/internal/redact"
	"mcpc/internal/spool"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A streamPosition is where one stream stands: event ids are cursors of their stream,
// never of the session (2025-11-25 basic/transports, "Resumability").
type streamPosition struct {
	id string
	// seen are the latest events that came, each marked once the connection is over on
	// which it did; it is nil where the stream cannot be resumed, so that nothing can
	// come twice.
	seen  *RecentIDs
	retry *time.Duration
	// moved is set when an event with a new id came since the last attempt.
	moved bool
	// stray is the latest response to something else.
	stray *wire.Message
	// noise is the first event that was not JSON-RPC. Servers number messages and not what keeps
	// a connection alive: numbered is set if an event that is not JSON was numbered.
	noise    []byte
	numbered bool
	// dropped is the beginning of what came in this attempt and was no event.
	dropped []byte
	// spare is a message whose memory is used again; nil if there is none. free is set if the data of the latest event
	// are not used any more.
	spare *wire.Message
	free  bool
}

const (
	maxResumes  = 5
	firstRetry  = 500 * time.Millisecond
	shortRetry  = 100 * time.Millisecond
	drainWithin = 10 * time.Millisecond
)

// MaxBackoff is the longest time between two attempts.
const MaxBackoff = 30 * time.Second

// readEvents follows the stream of one request to its response. A stream that
// ends without it is picked up again where the era allows and an event id was
// seen: a clean end then means "ask again", not "failed". Attempts are counted
// from the last event that was new.
func (t *HTTP) readEvents(ctx context.Context, rt *roundTrip, out *Outgoing) Reply {
	at := &streamPosition{}
	if out.Resumable {
		at.seen = NewRecentIDs()
	}
	r := t.follow(ctx, rt, out, at)
	for attempt := 1; r.Message == nil && r.Fault.Kind == wire.Transport && at.seen != nil && at.id != ""; attempt++ {
		if at.moved {
			at.moved = false
			attempt = 1
		}
		if attempt > maxResumes || !at.pause(ctx, attempt) {
			break
		}
		next, f := t.openStream(ctx, out.Fields, at.id) // with GET, whatever the method of the first was
		if f == nil {
			r = t.follow(ctx, next, out, at)
			continue
		}
		f.Kind = wire.Transport
		f.Reached = wire.Unknown
		f.retryable = false
		f.Phase = "read"
		f.Hint = ""
		f.Text = "the stream ended before the response, and it could not be resumed: " + f.Text
		r = Failed(f)
		if f.Status != 0 && f.Status/100 != 5 {
			break
		}
		if attempt == 1 {
			t.inbox.Finding(wire.Finding{Rule: "stream_lost", Level: wire.Warning,
				Text: fmt.Sprintf("the stream was interrupted (%s): reconnecting, up to %d times", f.Text, maxResumes)})
		}
	}
	if at.stray != nil {
		t.inbox.Receive(at.stray)
	}
	return r
}

// pause waits as long as the server asked for, within reason, or longer with
// each attempt; false where ctx ended first.
func (p *streamPosition) pause(ctx context.Context, attempt int) bool {
	wait := Backoff(attempt)
	if p.retry != nil {
		wait = min(max(*p.retry, shortRetry), MaxBackoff)
	}
	return Sleep(ctx, wait)
}

// A RecentIDs remembers the latest of many ids, each with a mark: only what was late can come twice.
type RecentIDs = recent.Map[string, bool]

// NewRecentIDs remembers nothing yet.
func NewRecentIDs() *RecentIDs { return &RecentIDs{Least: 10_000} }

// begin readies the cursor for the events of one more connection.
func (p *streamPosition) begin() {
	p.dropped = nil
	switch {
	case p.seen == nil:
	case p.id == "": // nothing is resumed, so that nothing can come again
		p.seen = NewRecentIDs()
	default:
		earlier := NewRecentIDs()
		for event := range p.seen.All() {
			earlier.Put(event, true)
		}
		p.seen = earlier
	}
}

// repeated moves the cursor along and reports an event that a resumed stream
// brought a second time. The id alone does not tell: some servers give all events
// the same one, and others count them anew on each connection. A copy of what an
// earlier connection brought has its data as well, and is no answer that is still
// waited for.
func (p *streamPosition) repeated(ev sse.Event) bool {
	if ev.Retry != nil {
		p.retry = ev.Retry
	}
	if ev.ID == nil || p.seen == nil {
		return false
	}
	id := *ev.ID
	event := fmt.Sprintf("%x %s", maphash.Bytes(eventSeed, ev.Data), id)
	earlier, known := p.seen.Lookup(event)
	if earlier {
		return true
	}
	if id != "" && !known {
		p.seen.Put(event, false)
	}
	p.moved = true
	p.id = id
	return false
}

var eventSeed = maphash.MakeSeed()

// Backoff is how long to wait before an attempt, longer with each.
func Backoff(attempt int) time.Duration {
	return min(firstRetry<<(min(attempt, 10)-1), MaxBackoff)
}

// follow reads one HTTP response's events until the answer to out, or the end.
func (t *HTTP) follow(ctx context.Context, rt *roundTrip, out *Outgoing, at *streamPosition) (r Reply) {
	f := t.each(ctx, rt, at, func(ev sse.Event) (answered bool) {
		if ev.IsMessage() {
			r, answered = t.answerIn(ev, out, at)
		}
		return answered
	})
	if f != nil {
		f = at.unanswered(f, out)
		if out.AnyReply && f.raw != nil { // bytes that are not a message are a reply, too
			return Reply{Message: wire.ParseMessage(f.raw), HTTP: rt.facts(nil)}
		}
		return Reply{Fault: f, HTTP: rt.facts(at.dropped)}
	}
	// What little follows the response is read, so that the connection can be used again. A server that keeps the stream
	// open is not waited for.
	late := time.AfterFunc(drainWithin, func() { rt.resp.Body.Close() })
	defer late.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(rt.resp.Body, shortBody))
	rt.resp.Body.Close()
	if out.AnyReply && at.noise != nil && !bytes.Equal(at.noise, r.Message.Raw) {
		ignoreEvent(t.inbox, wire.ParseMessage(at.noise))
	}
	r.HTTP = rt.facts(nil)
	r.Noise = at.noise
	return r
}

// each gives one HTTP response's events, without those that came before, to take
// until that says that it is enough. Else it gives how the stream ended.
func (t *HTTP) each(ctx context.Context, rt *roundTrip, at *streamPosition, take func(sse.Event) bool) *Fault {
	src, f := decoded(rt.resp)
	if f != nil {
		start := make([]byte, mostDropped)
		n, _ := rt.resp.Body.Read(start)
		rt.resp.Body.Close()
		rt.record(wire.Noise, start[:n])
		f.raw = start[:n]
		return f
	}
	at.begin()
	events := sse.NewReader(src, int64(t.maxSize))
	events.Spool = t.Spool
	for {
		ev, err := events.Next()
		if err != nil {
			rt.resp.Body.Close()
			rt.record(wire.Noise, ev.Dropped)
			f := rt.streamEnd(ctx, err)
			at.drop(ev)
			at.explain(f, len(ev.Dropped) > 0)
			return f
		}
		rt.recordEvent(ev)
		if at.dropped == nil {
			at.drop(ev)
		}
		if at.repeated(ev) {
			m := wire.ParseMessage(ev.Data)
			t.inbox.Finding(wire.Finding{Rule: "repeated_event", Level: wire.Info,
				Text: fmt.Sprintf("a resumed stream repeated the event %s (%s); the copy was dropped",
					jsonraw.Excerpt([]byte(*ev.ID), 40), cmp.Or(m.Method, m.Kind.String()))})
			continue
		}
		foreignEvent(t.inbox, ev)
		if take(ev) {
			return nil
		}
		if at.free {
			at.free = false
			events.Release()
		}
	}
}

// mostDropped is how much is kept of what was no event.
const mostDropped = 4 << 10

func (p *streamPosition) drop(ev sse.Event) {
	if len(ev.Dropped) > 0 {
		p.dropped = bytes.Clone(ev.Dropped[:min(len(ev.Dropped), mostDropped)])
	}
}

// explain says of a stream that ended without the answer what came in place of it.
// Comments are no answer, whatever follows them.
func (p *streamPosition) explain(f *Fault, unended bool) {
	text := bytes.TrimSpace(p.dropped)
	if len(text) == 0 || f.Err != nil || f.Kind != wire.Transport {
		return
	}
	switch {
	case text[0] == '{' || text[0] == '[':
		f.Text += `: it contained JSON without "data: " before it`
		f.Hint = `a server must write "data: " before each line of a message, and a blank line after the last`
	case !unended:
		f.Text += ": it contained lines that are not events"
	case text[0] != ':':
		f.Text += ": its last event does not end with a blank line"
	}
}

// unanswered returns why a stream brought no response. If it cannot be resumed, a response to
// something else was meant for one, or else an event that is not JSON. A numbered one is a
// broken message, after which resuming brings no better one.
func (p *streamPosition) unanswered(f *Fault, out *Outgoing) *Fault {
	ended := f.Kind == wire.Transport && f.Err == nil
	if !ended || p.id != "" && !p.numbered {
		return f
	}
	if p.stray != nil {
		wrong := noAnswerTo(out, p.stray)
		p.stray = nil
		return wrong
	}
	if p.noise != nil && !isJSON(p.noise) {
		return noMessageIn(wire.ParseMessage(p.noise))
	}
	return f
}

// noMessageIn is the fault of an event in place of a response.
func noMessageIn(m *wire.Message) *Fault {
	return badContent("an event contains no JSON-RPC message: "+m.Problem(), m.Raw)
}

// ignoreEvent reports an event that is not JSON, as some servers send to keep a connection
// alive. That is their fault and no reason to stop.
func ignoreEvent(in Inbox, m *wire.Message) {
	text := "an event on the stream is not JSON" + ignored(m)
	in.Repeated(wire.Finding{Rule: "stream_noise", Level: wire.Warning, Text: text},
		"events on the stream are not JSON, ignored")
	if isMeant(m.Raw) {
		in.Diagnose(Diagnostic{"in the meantime an event was received that is not JSON" + strangeness(m),
			"if that event was the response, no other will follow; -vvv shows its bytes"})
	}
}

// ignored says what was ignored, and what it looks like.
func ignored(m *wire.Message) string {
	return fmt.Sprintf("%s, ignored: %q", strangeness(m), jsonraw.Excerpt(m.Raw, maxShown))
}

// strayed tells of a response to something else on a stream that can be picked up
// again: there are servers that then bring back those to all other requests.
func strayed(in Inbox, m *wire.Message) {
	in.Finding(wire.Finding{Rule: "orphan", Level: wire.Info,
		Text: "received a response to no open request, with id " + IDText(m.ID)})
}

// foreignEvent tells of an event that has another name than a message. One
// without data is no event at all (WHATWG HTML, section 9.2.6), and is how servers
// set a stream's id.
func foreignEvent(in Inbox, ev sse.Event) {
	if ev.Event == "" || ev.Event == "message" || len(ev.Data) == 0 {
		return
	}
	name := jsonraw.Excerpt([]byte(ev.Event), 40)
	in.Repeated(wire.Finding{Rule: "event", Level: wire.Warning,
		Text: fmt.Sprintf("an event of type %q is not a message; it was skipped", name)},
		fmt.Sprintf("events of type %q are not messages; they were skipped", name))
}

// parse parses the message of an event. Of a server that reports progress, most are alike and used once.
func (at *streamPosition) parse(raw []byte) *wire.Message {
	m := at.spare
	if m == nil {
		m = &wire.Message{}
	}
	at.spare = nil
	m.Parse(raw)
	return m
}

// answerIn takes one event; ok where it ends the request.
func (t *HTTP) answerIn(ev sse.Event, out *Outgoing, at *streamPosition) (r Reply, ok bool) {
	m := at.parse(ev.Data)
	if m.Kind == wire.Invalid {
		if !out.AnyReply && claims(m, out.ID, true) {
			return Failed(noMessageIn(m)), true
		}
		if at.noise == nil && string(m.Raw) != "{}" { // as some servers bring priming events back
			at.noise = m.Raw
		}
		at.numbered = at.numbered || ev.ID != nil && !isJSON(ev.Data)
		if !isJSON(ev.Data) {
			if !out.AnyReply { // which may have no other reply
				ignoreEvent(t.inbox, m)
			}
			return Reply{}, false
		}
	}
	if out.AnyReply {
		ok = m.Kind != wire.Notification && m.Kind != wire.Request
		return Reply{Message: m}, ok
	}
	if m.Kind == wire.Batch && !out.Batches {
		if response, odd := plainResponse(m, out); response != nil {
			return Reply{Message: response, Odd: odd}, true
		}
		if holds(m, out.ID) {
			return Failed(noAnswerTo(out, m)), true
		}
		t.inbox.Receive(m)
		return Reply{}, false
	}
	if m.Kind == wire.Notification {
		at.free = t.inbox.Receive(m)
		if at.free {
			at.spare = m
		}
		return Reply{}, false
	}
	if answer, odd := t.pick(m, out); answer != nil {
		return Reply{Message: answer, Odd: odd}, true
	}
	switch {
	case !isReply(m):
	case at.id != "":
		strayed(t.inbox, m)
	default:
		if at.stray != nil {
			t.inbox.Receive(at.stray)
		}
		at.stray = m
	}
	return Reply{}, false
}

func (rt *roundTrip) recordEvent(ev sse.Event) {
	if !rt.via.rec.on() {
		return
	}
	rt.record(wire.Noise, ev.Dropped)
	if !ev.IsEvent() {
		return
	}
	data := ev.Data
	if ev.Event == "endpoint" {
		data = []byte(redact.RedactURL(string(data))) // it holds the session's id
	}
	facts := &noFacts
	if ev.Facts != noFacts {
		own := ev.Facts
		facts = &own
	}
	rt.via.rec.Body(wire.Received, wire.Event, rt.stream, data, facts)
}

// noFacts are those of an event that is nothing but data, as most are.
var noFacts sse.Facts

func (rt *roundTrip) streamEnd(ctx context.Context, err error) *Fault {
	if large, ok := errors.AsType[sse.TooLargeError](err); ok {
		rt.via.rec.closed(rt.stream, wire.Sent, "cancelled", "over the limit")
		return TooLarge(large.Limit)
	}
	if _, isFile := errors.AsType[*spool.FileError](err); isFile {
		rt.via.rec.closed(rt.stream, wire.Sent, "cancelled", "the response could not be kept")
		return notKept(err)
	}
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		rt.via.rec.closed(rt.stream, wire.Received, "end", "")
		return &Fault{Kind: wire.Transport, Phase: "read", Reached: wire.Unknown,
			Text: "the stream ended before the response"}
	}
	rt.recordCut(ctx, err)
	f := cutFault(ctx, 0, err)
	if ctx.Err() == nil && f.Kind == wire.Transport {
		f.Text = fmt.Sprintf("the connection was closed before the response: %s", withoutURL(err))
	}
	return f
}
