package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"mcpc/internal/wire"
)

// A cursor is where one stream stands: event ids are cursors of their stream,
// never of the session (2025-11-25 basic/transports, "Resumability").
type cursor struct {
	id    string
	seen  map[string]bool
	retry time.Duration
	// moved is set when an event with a new id came since the last attempt.
	moved bool
}

const (
	maxResumes  = 5
	firstRetry  = 500 * time.Millisecond
	shortRetry  = 100 * time.Millisecond
	longRetry   = 30 * time.Second
	drainWithin = 10 * time.Millisecond
)

// readEvents follows the stream of one request to its response. A stream that
// ends without it is picked up again where the era allows and an event id was
// seen: a clean end then means "ask again", not "failed".
func (t *httpTransport) readEvents(ctx context.Context, tr *trip, out *outgoing) reply {
	at := &cursor{seen: map[string]bool{}}
	r, attempts := t.follow(ctx, tr, out, at), 0
	for r.message == nil && r.fault.kind == wire.Transport && out.resumable && at.id != "" && ctx.Err() == nil {
		if at.moved {
			attempts = 0
		}
		if attempts++; attempts > maxResumes {
			break
		}
		at.moved = false
		next, f := t.resume(ctx, out, at)
		if f != nil {
			return failed(f)
		}
		r = t.follow(ctx, next, out, at)
	}
	return r
}

// resume waits as long as the server asked and opens the stream anew with GET,
// whatever the method of the first was.
func (t *httpTransport) resume(ctx context.Context, out *outgoing, at *cursor) (*trip, *fault) {
	select {
	case <-time.After(at.wait()):
	case <-ctx.Done():
		return nil, cutFault(ctx, 0, ctx.Err())
	}
	again := &outgoing{fields: append(append([]wire.Field{}, out.fields...), wire.Field{Name: "Last-Event-ID", Value: at.id})}
	tr, f := t.roundTrip(ctx, http.MethodGet, again)
	if f != nil {
		f.reached, f.retryable = wire.Unknown, false
		return nil, f
	}
	mediaType, _, _ := mime.ParseMediaType(tr.resp.Header.Get("Content-Type"))
	if tr.resp.StatusCode != http.StatusOK || mediaType != "text/event-stream" {
		defer tr.resp.Body.Close()
		f := statusFault(tr.resp, nil)
		f.kind, f.reached, f.phase = wire.Transport, wire.Unknown, "read"
		f.text = "the stream ended before the response, and it could not be resumed: " + f.text
		f.hint = ""
		return nil, f
	}
	return tr, nil
}

func (c *cursor) wait() time.Duration {
	if c.retry == 0 {
		return firstRetry
	}
	return min(max(c.retry, shortRetry), longRetry)
}

// follow reads one HTTP response's events until the answer to out, or the end.
func (t *httpTransport) follow(ctx context.Context, tr *trip, out *outgoing, at *cursor) reply {
	events := newEventReader(tr.resp.Body, t.limits.Message)
	for {
		ev, err := events.next()
		if err != nil {
			tr.resp.Body.Close()
			return failed(t.streamEnd(ctx, tr, err))
		}
		t.recordEvent(tr, ev)
		if at.repeated(ev) || !ev.isMessage() {
			continue
		}
		m := wire.ParseMessage(ev.data)
		if answer := t.pickEvent(m, out); answer != nil {
			t.drain(tr)
			return reply{message: answer, http: factsOf(tr.resp, nil)}
		}
		if m.Kind == wire.Invalid && !isJSON(ev.data) {
			tr.resp.Body.Close()
			return failed(badContent(tr, "an event's data is no JSON: "+m.Problem(), ev.data))
		}
	}
}

func (t *httpTransport) pickEvent(m *wire.Message, out *outgoing) *wire.Message {
	if out.anyReply && m.Kind != wire.Notification {
		return m
	}
	return t.pick(m, out)
}

// isMessage tells an event that carries JSON-RPC from priming events and from
// events of other types.
func (e event) isMessage() bool {
	return (e.name == "" || e.name == "message") && len(bytes.TrimSpace(e.data)) > 0
}

func isJSON(raw []byte) bool { return wire.Valid(raw) == nil }

// repeated moves the cursor along and reports an event that a resumed stream
// brought a second time.
func (c *cursor) repeated(ev event) bool {
	if ev.retry != nil {
		c.retry = *ev.retry
	}
	if ev.id == nil {
		return false
	}
	id := *ev.id
	if id != "" && c.seen[id] {
		return true
	}
	c.seen[id], c.moved, c.id = true, true, id
	return false
}

func (t *httpTransport) recordEvent(tr *trip, ev event) {
	if !t.rec.on() {
		return
	}
	facts := &wire.SSEFacts{Event: ev.name, ID: ev.id, Retry: ev.retry, Comment: ev.comment}
	t.rec.body(wire.Received, wire.Event, tr.stream, ev.data, facts)
}

func (t *httpTransport) streamEnd(ctx context.Context, tr *trip, err error) *fault {
	var large errTooLarge
	if errors.As(err, &large) {
		t.rec.closed(tr.stream, wire.Sent, "cancelled", "over the limit")
		return overLimit(large.limit)
	}
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		t.rec.closed(tr.stream, wire.Received, "end", "")
		return &fault{kind: wire.Transport, phase: "read", reached: wire.Unknown,
			text: "the stream ended before the response"}
	}
	f := cutFault(ctx, 0, err)
	if ctx.Err() == nil {
		f.text = "the stream was cut before the response: " + innermost(err)
	}
	t.rec.closed(tr.stream, wire.Received, "cut", f.text)
	return f
}

// drain reads what little follows the response, so that the connection can be
// used again; a server that keeps the stream open is not waited for.
func (t *httpTransport) drain(tr *trip) {
	done := make(chan struct{})
	t.background.Add(1)
	go func() {
		defer t.background.Done()
		defer close(done)
		_, _ = io.Copy(io.Discard, io.LimitReader(tr.resp.Body, 64<<10))
		tr.resp.Body.Close()
	}()
	select {
	case <-done:
	case <-time.After(drainWithin):
		tr.resp.Body.Close()
	}
}
