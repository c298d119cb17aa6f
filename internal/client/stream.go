package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A cursor is where one stream stands: event ids are cursors of their stream,
// never of the session (2025-11-25 basic/transports, "Resumability").
type cursor struct {
	id string
	// seen are the latest events that came, each marked once the connection is over on
	// which it did; it is nil where the stream cannot be resumed, so that nothing can
	// come twice.
	seen  *recent
	retry *time.Duration
	// moved is set when an event with a new id came since the last attempt.
	moved bool
	// stray is the latest response to something else.
	stray *wire.Message
	// dropped is the beginning of what came in this attempt and was no event.
	dropped []byte
}

const (
	maxResumes  = 5
	firstRetry  = 500 * time.Millisecond
	shortRetry  = 100 * time.Millisecond
	drainWithin = 10 * time.Millisecond
)

// longRetry is the longest time between two attempts.
const longRetry = 30 * time.Second

// readEvents follows the stream of one request to its response. A stream that
// ends without it is picked up again where the era allows and an event id was
// seen: a clean end then means "ask again", not "failed". Attempts are counted
// from the last event that was new.
func (t *httpTransport) readEvents(ctx context.Context, rt *trip, out *Outgoing) Reply {
	at := &cursor{}
	if out.resumable {
		at.seen = newRecent()
	}
	r := t.follow(ctx, rt, out, at)
	for attempt := 1; r.message == nil && r.fault.kind == wire.Transport && at.seen != nil && at.id != ""; attempt++ {
		if at.moved {
			at.moved, attempt = false, 1
		}
		if attempt > maxResumes || !at.pause(ctx, attempt) {
			break
		}
		next, f := t.resume(ctx, out, at)
		if f == nil {
			r = t.follow(ctx, next, out, at)
			continue
		}
		if r = failed(f); f.status != 0 && f.status/100 != 5 {
			break
		}
		if attempt == 1 {
			t.inbox.finding(wire.Finding{Rule: "stream_lost", Level: wire.Warning,
				Text: fmt.Sprintf("the stream was interrupted (%s): reconnecting, up to %d times", f.text, maxResumes)})
		}
	}
	if at.stray != nil {
		t.inbox.receive(at.stray)
	}
	return r
}

// pause waits as long as the server asked for, within reason, or longer with
// each attempt; false where ctx ended first.
func (p *cursor) pause(ctx context.Context, attempt int) bool {
	wait := backoff(attempt)
	if p.retry != nil {
		wait = min(max(*p.retry, shortRetry), longRetry)
	}
	return sleep(ctx, wait)
}

// backoff is how long to wait before an attempt, longer with each.
func backoff(attempt int) time.Duration {
	return min(firstRetry<<(min(attempt, 10)-1), longRetry)
}

// resume opens the stream anew with GET, whatever the method of the first was.
func (t *httpTransport) resume(ctx context.Context, out *Outgoing, at *cursor) (*trip, *fault) {
	rt, f := t.openStream(ctx, out.fields, at.id)
	if f != nil {
		f.kind, f.reached, f.retryable, f.phase, f.hint = wire.Transport, wire.Unknown, false, "read", ""
		f.text = "the stream ended before the response, and it could not be resumed: " + f.text
	}
	return rt, f
}

// openStream asks for a stream with GET: the one that goes on behind the event
// with that id, or, where it is "", one of its own.
func (t *httpTransport) openStream(ctx context.Context, fields []wire.Field, behind string) (*trip, *fault) {
	if behind != "" {
		fields = append(append([]wire.Field{}, fields...), wire.Field{Name: "Last-Event-ID", Value: behind})
	}
	rt, f := t.roundTrip(ctx, http.MethodGet, &Outgoing{fields: fields})
	if f == nil && (rt.resp.StatusCode != http.StatusOK || mediaType(rt.resp) != "text/event-stream") {
		rt.record(wire.Body, t.refusalBody(rt))
		rt.resp.Body.Close()
		f = statusFault(rt.resp, nil)
	}
	if f != nil {
		return nil, f
	}
	return rt, nil
}

// follow reads one HTTP response's events until the answer to out, or the end.
func (t *httpTransport) follow(ctx context.Context, rt *trip, out *Outgoing, at *cursor) (r Reply) {
	f := t.each(ctx, rt, at, func(ev sse.Event) (answered bool) {
		if ev.IsMessage() {
			r, answered = t.answerIn(ev, out, at)
		}
		return answered
	})
	if f != nil {
		return Reply{fault: at.unanswered(f, out), http: factsOf(rt.resp, at.dropped)}
	}
	rt.drain()
	r.http = factsOf(rt.resp, nil)
	return r
}

// each gives one HTTP response's events, without those that came before, to take
// until that says that it is enough. Else it gives how the stream ended.
func (t *httpTransport) each(ctx context.Context, rt *trip, at *cursor, take func(sse.Event) bool) *fault {
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
			t.inbox.finding(wire.Finding{Rule: "repeated_event", Level: wire.Info,
				Text: fmt.Sprintf("a resumed stream repeated the event %s (%s); the copy was dropped",
					jsonraw.Excerpt([]byte(*ev.ID), 40), cmp.Or(m.Method, m.Kind.String()))})
			continue
		}
		foreignEvent(t.inbox, ev)
		if take(ev) {
			return nil
		}
	}
}

// mostDropped is how much is kept of what was no event.
const mostDropped = 4 << 10

func (p *cursor) drop(ev sse.Event) {
	if len(ev.Dropped) > 0 {
		p.dropped = bytes.Clone(ev.Dropped[:min(len(ev.Dropped), mostDropped)])
	}
}

// explain says of a stream that ended without the answer what came in place of it.
// Comments are no answer, whatever follows them.
func (p *cursor) explain(f *fault, unended bool) {
	text := bytes.TrimSpace(p.dropped)
	if len(text) == 0 || f.err != nil || f.kind != wire.Transport {
		return
	}
	switch {
	case text[0] == '{' || text[0] == '[':
		f.text += `: it contained JSON without "data: " before it`
		f.hint = `a server must write "data: " before each line of a message, and a blank line after the last`
	case !unended:
		f.text += ": it contained lines that are not events"
	case text[0] != ':':
		f.text += ": its last event does not end with a blank line"
	}
}

// unanswered is how a stream ended on which no answer came. Where it brought a
// response to something else and cannot be picked up again, that one was meant.
func (p *cursor) unanswered(f *fault, out *Outgoing) *fault {
	ended := f.kind == wire.Transport && f.err == nil
	if p.stray == nil || p.id != "" || !ended {
		return f
	}
	wrong := noAnswerTo(out, p.stray)
	p.stray = nil
	return wrong
}

// strayed tells of a response to something else on a stream that can be picked up
// again: there are servers that then bring back those to all other requests.
func strayed(in inbox, m *wire.Message) {
	in.finding(wire.Finding{Rule: "orphan", Level: wire.Info,
		Text: "received a response to no open request, with id " + orNone(m.ID)})
}

// foreignEvent tells of an event that has another name than a message. One
// without data is no event at all (WHATWG HTML, section 9.2.6), and is how servers
// set a stream's id.
func foreignEvent(in inbox, ev sse.Event) {
	if ev.Event == "" || ev.Event == "message" || len(ev.Data) == 0 {
		return
	}
	name := jsonraw.Excerpt([]byte(ev.Event), 40)
	in.often(wire.Finding{Rule: "event", Level: wire.Warning,
		Text: fmt.Sprintf("an event of type %q is not a message; it was skipped", name)},
		fmt.Sprintf("events of type %q are not messages; they were skipped", name))
}

// answerIn takes one event; ok where it ends the request.
func (t *httpTransport) answerIn(ev sse.Event, out *Outgoing, at *cursor) (r Reply, ok bool) {
	m := wire.ParseMessage(ev.Data)
	if out.anyReply {
		ok = m.Kind != wire.Notification && m.Kind != wire.Request
		return Reply{message: m}, ok
	}
	if m.Kind == wire.Invalid && (!isJSON(ev.Data) || claims(m, out.id)) {
		return failed(badContent("an event contains no JSON-RPC message: "+m.Problem(), ev.Data)), true
	}
	if m.Kind == wire.Batch && !out.batches {
		if holds(m, out.id) {
			return failed(noAnswerTo(out, m)), true
		}
		t.inbox.receive(m)
		return Reply{}, false
	}
	if answer := t.pick(m, out); answer != nil {
		return Reply{message: answer}, true
	}
	switch {
	case !isReply(m):
	case at.id != "":
		strayed(t.inbox, m)
	default:
		if at.stray != nil {
			t.inbox.receive(at.stray)
		}
		at.stray = m
	}
	return Reply{}, false
}

// claims reports a broken answer to the request: nothing better will come. One
// that has neither a result nor an error must at least look like JSON-RPC, as a
// line of some logger does not. One that is not JSON must have its id before the
// place where it breaks; if it only ends too early the rest may stand in the next
// line.
func claims(m *wire.Message, id json.RawMessage) bool {
	if m.Kind != wire.Invalid || len(id) == 0 {
		return false
	}
	if m.Answers(id) {
		return true
	}
	members, err := jsonraw.Object(m.Raw)
	given, _ := members.Get("id")
	if !bytes.Equal(given, id) || members.Text("jsonrpc") == "" {
		return false
	}
	if err != nil { // a request's method may stand behind that place
		return int(err.Offset) < len(m.Raw) && !bytes.Contains(m.Raw, []byte(`"method"`))
	}
	_, called := members.Get("method")
	return !called
}

// holds reports an array with the response to the request.
func holds(m *wire.Message, id json.RawMessage) bool {
	return slices.ContainsFunc(m.Items, func(item *wire.Message) bool { return item.Answers(id) })
}

func isJSON(raw []byte) bool { return jsonraw.Valid(raw) == nil }

func (rt *trip) recordEvent(ev sse.Event) {
	if !rt.via.rec.on() {
		return
	}
	if rt.record(wire.Noise, ev.Dropped); !ev.IsEvent() {
		return
	}
	data := ev.Data
	if ev.Event == "endpoint" {
		data = []byte(redact.RedactURL(string(data))) // it holds the session's id
	}
	facts := ev.Facts
	rt.via.rec.body(wire.Received, wire.Event, rt.stream, data, &facts)
}

func (rt *trip) streamEnd(ctx context.Context, err error) *fault {
	if large, ok := errors.AsType[sse.TooLargeError](err); ok {
		rt.via.rec.closed(rt.stream, wire.Sent, "cancelled", "over the limit")
		return overLimit(large.Limit)
	}
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		rt.via.rec.closed(rt.stream, wire.Received, "end", "")
		return &fault{kind: wire.Transport, phase: "read", reached: wire.Unknown,
			text: "the stream ended before the response"}
	}
	rt.recordCut(ctx, err)
	f := cutFault(ctx, 0, err)
	if ctx.Err() == nil && f.kind == wire.Transport {
		f.text = fmt.Sprintf("the connection was closed before the response: %s", withoutURL(err))
	}
	return f
}

// drain reads what little follows the response, so that the connection can be
// used again; a server that keeps the stream open is not waited for.
func (rt *trip) drain() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, io.LimitReader(rt.resp.Body, shortBody))
	}()
	isWithin(done, drainWithin)
	rt.resp.Body.Close()
	<-done
}
