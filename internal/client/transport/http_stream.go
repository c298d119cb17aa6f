package transport

import (
	"bytes"
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

// A streamPosition is the state of reading one stream of events, over all connections that resume
// it. Event ids are cursors within their stream, never within the session (2025-11-25
// basic/transports, "Resumability").
type streamPosition struct {
	// id is the id of the latest event, "" if no event had an id.
	id string
	// seen has the latest events. An event is marked once the connection that brought it is over. It is
	// nil if the stream cannot be resumed, because no event can be repeated then.
	seen  *RecentIDs
	retry *time.Duration
	// advanced is set when an event with a new id arrives, and cleared by each attempt to resume.
	advanced bool
	// strayResponse is the latest response with another request's id.
	strayResponse *wire.Message
	// noise is the first event that is not JSON-RPC, noiseHasID whether a non-JSON event had an id.
	// Servers give ids to messages and not to keep-alive events.
	noise      []byte
	noiseHasID bool
	// dropped is the beginning of the bytes of this connection that belong to no event.
	dropped []byte
	// spareMessage is a message for reuse, or nil. canReuse is set if the data of the latest event can
	// be reused.
	spareMessage *wire.Message
	canReuse     bool
}

const (
	// maxResumes limits the attempts to resume a stream without a new event between them.
	maxResumes = 5
	// firstRetry is the wait before the first attempt if the server names no wait; minRetry is the
	// shortest wait that a server can ask for.
	firstRetry = 500 * time.Millisecond
	minRetry   = 100 * time.Millisecond
	// drainWithin is how long the end of a stream is waited for after the response.
	drainWithin = 10 * time.Millisecond
)

// MaxBackoff is the longest time between two attempts.
const MaxBackoff = 30 * time.Second

// readEvents reads the stream of one request up to its response. If the stream ends before the
// response, it resumes the stream, provided that the revision allows this and an event had an id. It
// counts attempts from the latest new event.
func (t *HTTP) readEvents(ctx context.Context, rt *roundTrip, out *Outgoing) Reply {
	pos := &streamPosition{}
	if out.Resumable {
		pos.seen = NewRecentIDs()
	}
	r := t.readReply(ctx, rt, out, pos)
	canResume := func() bool {
		return r.Message == nil && r.Fault.Kind == wire.Transport && pos.seen != nil && pos.id != ""
	}
	for attempt := 1; canResume(); attempt++ {
		if pos.advanced { // the last attempt brought a new event
			pos.advanced = false
			attempt = 1
		}
		if attempt > maxResumes || !pos.pause(ctx, attempt) {
			break
		}
		next, f := t.openStream(ctx, out.Fields, pos.id)
		if f == nil {
			r = t.readReply(ctx, next, out, pos)
			continue
		}
		r = Failed(resumeFault(f))
		isRefused := f.Status != 0 && f.Status/100 != 5 // a 5xx may pass
		if isRefused {
			break
		}
		if attempt == 1 {
			t.inbox.Finding(wire.Finding{
				Rule: "stream_lost", Severity: wire.Warning,
				Text: fmt.Sprintf("the stream was interrupted (%s): reconnecting, up to %d times", f.Text, maxResumes),
			})
		}
	}
	if pos.strayResponse != nil { // it explains no failure
		t.inbox.Receive(pos.strayResponse)
	}
	return r
}

// resumeFault changes f, the fault of a request to resume a stream, into the fault of the request
// whose response the stream should have, and returns it.
func resumeFault(f *Fault) *Fault {
	f.Kind = wire.Transport
	f.Reached = wire.Unknown
	f.retryable = false
	f.Phase = "read"
	f.Hint = ""
	f.Text = "the stream ended before the response, and it could not be resumed: " + f.Text
	return f
}

// pause waits before an attempt to resume: as long as the server asked for, within limits, else
// longer with each attempt. It reports false if ctx ended first.
func (pos *streamPosition) pause(ctx context.Context, attempt int) bool {
	wait := Backoff(attempt)
	if pos.retry != nil {
		wait = min(max(*pos.retry, minRetry), MaxBackoff)
	}
	return Sleep(ctx, wait)
}

// RecentIDs remembers the latest ids, each with a mark. Older ids are forgotten, since only recent
// events can be repeated.
type RecentIDs = recent.Map[string, bool]

// NewRecentIDs returns an empty RecentIDs.
func NewRecentIDs() *RecentIDs { return &RecentIDs{MinEntries: 10_000} }

// startConnection prepares the position for the events of another connection: it marks the events of earlier
// connections.
func (pos *streamPosition) startConnection() {
	pos.dropped = nil
	if pos.seen == nil {
		return
	}
	earlier := NewRecentIDs()
	if pos.id != "" { // else the new stream resumes nothing, so that no event can be repeated
		for event := range pos.seen.All() {
			earlier.Put(event, true)
		}
	}
	pos.seen = earlier
}

// advance advances the position by one event. It reports whether a resumed stream repeats the
// event. The id alone does not show that: some servers give the same id to all events, others
// restart the count on each connection. So a repeated event has the id and the data of an event of
// an earlier connection.
func (pos *streamPosition) advance(ev sse.Event) bool {
	if ev.Retry != nil {
		pos.retry = ev.Retry
	}
	if ev.ID == nil || pos.seen == nil {
		return false
	}
	id := *ev.ID
	event := fmt.Sprintf("%x %s", maphash.Bytes(eventSeed, ev.Data), id)
	isOfEarlier, isKnown := pos.seen.Lookup(event)
	if isOfEarlier {
		return true
	}
	if id != "" && !isKnown {
		const ofEarlier = false // startConnection marks it when this connection is over
		pos.seen.Put(event, ofEarlier)
	}
	pos.advanced = true
	pos.id = id
	return false
}

var eventSeed = maphash.MakeSeed()

// Backoff returns how long to wait before an attempt; the time doubles with each attempt, up to
// MaxBackoff.
func Backoff(attempt int) time.Duration {
	const maxDoublings = 9 // 256 s, over MaxBackoff and far from an overflow
	return min(firstRetry<<min(attempt-1, maxDoublings), MaxBackoff)
}

// readReply reads the events of one HTTP response up to the response to out, or up to the end of the
// stream, which is a fault. With AcceptsAny, the bytes that are no message are then the reply.
func (t *HTTP) readReply(ctx context.Context, rt *roundTrip, out *Outgoing, pos *streamPosition) Reply {
	var r Reply
	f := t.eachEvent(ctx, rt, pos, func(ev sse.Event) (answered bool) {
		if ev.IsMessage() {
			r, answered = t.handleEvent(ev, out, pos)
		}
		return answered
	})
	if f != nil {
		f = pos.faultWithoutResponse(f, out)
		if out.AcceptsAny && f.raw != nil {
			return Reply{Message: wire.ParseMessage(f.raw), HTTP: rt.facts(nil)}
		}
		return Reply{Fault: f, HTTP: rt.facts(pos.dropped)}
	}
	// The few bytes after the response are read, so that the connection can be reused. A server that keeps
	// the stream open is not waited for.
	drainTimer := time.AfterFunc(drainWithin, func() { rt.resp.Body.Close() })
	defer drainTimer.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(rt.resp.Body, shortBody))
	rt.resp.Body.Close()
	// With AcceptsAny, handleEvent did not report the noise, which might have been the only reply.
	if out.AcceptsAny && pos.noise != nil && !bytes.Equal(pos.noise, r.Message.Raw) {
		reportNonJSONEvent(t.inbox, wire.ParseMessage(pos.noise))
	}
	r.HTTP = rt.facts(nil)
	r.Noise = pos.noise
	return r
}

// eachEvent passes the events of one HTTP response to handle until handle returns true, and skips
// repeated events. It returns nil if handle returned true, else the fault that says how the stream
// ended.
func (t *HTTP) eachEvent(ctx context.Context, rt *roundTrip, pos *streamPosition, handle func(sse.Event) bool) *Fault {
	src, f := decodedBody(rt.resp)
	if f != nil { // an unknown encoding: keep the beginning of the bytes
		start := make([]byte, maxDropped)
		n, _ := rt.resp.Body.Read(start)
		rt.resp.Body.Close()
		rt.record(wire.Noise, start[:n])
		f.raw = start[:n]
		return f
	}
	pos.startConnection()
	events := sse.NewReader(src, int64(t.maxSize))
	events.Spool = t.Spool
	for {
		ev, err := events.Next()
		if err != nil {
			rt.resp.Body.Close()
			rt.record(wire.Noise, ev.Dropped)
			f := rt.streamEnd(ctx, err)
			pos.keepDropped(ev)
			isUnended := len(ev.Dropped) > 0
			pos.explainDropped(f, isUnended)
			return f
		}
		rt.recordEvent(ev)
		if pos.dropped == nil { // the first such bytes
			pos.keepDropped(ev)
		}
		if pos.advance(ev) {
			t.reportRepeated(ev)
			continue
		}
		reportEventType(t.inbox, ev)
		if handle(ev) {
			return nil
		}
		if pos.canReuse {
			pos.canReuse = false
			events.Release()
		}
	}
}

// reportRepeated reports an event that a resumed stream sent again.
func (t *HTTP) reportRepeated(ev sse.Event) {
	m := wire.ParseMessage(ev.Data)
	what := m.Method
	if what == "" {
		what = m.Kind.String()
	}
	t.inbox.Finding(wire.Finding{
		Rule: "repeated_event", Severity: wire.Info,
		Text: fmt.Sprintf("a resumed stream repeated the event %s (%s); the copy was dropped",
			jsonraw.Excerpt([]byte(*ev.ID), 40), what),
	})
}

// maxDropped is how many bytes outside of events are kept.
const maxDropped = 4 << 10

// keepDropped keeps the beginning of the bytes before ev that belong to no event.
func (pos *streamPosition) keepDropped(ev sse.Event) {
	if len(ev.Dropped) > 0 {
		pos.dropped = bytes.Clone(ev.Dropped[:min(len(ev.Dropped), maxDropped)])
	}
}

// explainDropped adds to the fault of a stream that ended without a response what the stream
// contained instead. isUnended reports whether the last event is incomplete. Comments are not
// mentioned. f stays as it is if it already has a cause.
func (pos *streamPosition) explainDropped(f *Fault, isUnended bool) {
	text := bytes.TrimSpace(pos.dropped)
	if len(text) == 0 || f.Err != nil || f.Kind != wire.Transport {
		return
	}
	switch {
	case text[0] == '{' || text[0] == '[':
		f.Text += `: it contained JSON without "data: " before it`
		f.Hint = `a server must write "data: " before each line of a message, and a blank line after the last`
	case !isUnended:
		f.Text += ": it contained lines that are not events"
	case text[0] != ':': // a comment needs no blank line
		f.Text += ": its last event does not end with a blank line"
	}
}

// faultWithoutResponse returns the fault of a stream that ended without a response. If the stream cannot be
// resumed, or a non-JSON event had an id, a stray response or a non-JSON event explains the failure
// better than f; otherwise it returns f.
func (pos *streamPosition) faultWithoutResponse(f *Fault, out *Outgoing) *Fault {
	isPlainEnd := f.Kind == wire.Transport && f.Err == nil
	mayResume := pos.id != "" && !pos.noiseHasID
	if !isPlainEnd || mayResume {
		return f
	}
	if pos.strayResponse != nil {
		wrong := mismatchFault(out, pos.strayResponse)
		pos.strayResponse = nil // the fault reports it
		return wrong
	}
	if pos.noise != nil && !isJSON(pos.noise) {
		return invalidEventFault(wire.ParseMessage(pos.noise))
	}
	return f
}

// invalidEventFault returns the fault for an event that contains no message.
func invalidEventFault(m *wire.Message) *Fault {
	return badResponseFault("an event contains no JSON-RPC message: "+m.Problem(), m.Raw)
}

// reportNonJSONEvent reports an event that is not JSON. Some servers send such events to keep a connection
// open, so it is no reason to stop. An event that looks like a broken message also becomes a
// diagnostic of the open requests, because it may have been the response.
func reportNonJSONEvent(in Inbox, m *wire.Message) {
	text := "an event on the stream is not JSON" + ignoredText(m)
	in.Repeated(wire.Finding{Rule: "stream_noise", Severity: wire.Warning, Text: text},
		"events on the stream are not JSON, ignored")
	if looksLikeMessage(m.Raw) {
		in.Diagnose(Diagnostic{
			"in the meantime an event was received that is not JSON" + describeNonMessage(m),
			"if that event was the response, no other will follow; " + wire.Verbose(3, "its bytes"),
		})
	}
}

// ignoredText returns the end of a finding about m: what m looks like, and its beginning.
func ignoredText(m *wire.Message) string {
	return fmt.Sprintf("%s, ignored: %q", describeNonMessage(m), jsonraw.Excerpt(m.Raw, maxShown))
}

// reportStray reports a response that no open request waits for. Some servers repeat the responses of
// all requests on a resumed stream.
func reportStray(in Inbox, m *wire.Message) {
	in.Finding(wire.Finding{
		Rule: "orphan", Severity: wire.Info,
		Text: "received a response to no open request, with id " + IDText(m.ID),
	})
}

// reportEventType reports an event whose type is not "message". An event without data only sets the
// stream's id (WHATWG HTML, section 9.2.6), so it is not reported.
func reportEventType(in Inbox, ev sse.Event) {
	if ev.Event == "" || ev.Event == "message" || len(ev.Data) == 0 {
		return
	}
	name := jsonraw.Excerpt([]byte(ev.Event), 40)
	in.Repeated(wire.Finding{
		Rule: "event", Severity: wire.Warning,
		Text: fmt.Sprintf("an event of type %q is not a message; it was skipped", name),
	},
		fmt.Sprintf("events of type %q are not messages; they were skipped", name))
}

// parse parses the data of an event. It reuses the memory of the spare message, if there is one.
func (pos *streamPosition) parse(raw []byte) *wire.Message {
	m := pos.spareMessage
	if m == nil {
		m = &wire.Message{}
	}
	pos.spareMessage = nil
	m.Parse(raw)
	return m
}

// handleEvent handles one event. It reports true, with the reply, if the event ends the request.
func (t *HTTP) handleEvent(ev sse.Event, out *Outgoing, pos *streamPosition) (r Reply, ok bool) {
	m := pos.parse(ev.Data)
	if m.Kind == wire.Invalid {
		if !out.AcceptsAny && isBrokenResponse(m, out.ID, true) {
			return Failed(invalidEventFault(m)), true
		}
		if pos.noise == nil && string(m.Raw) != "{}" { // some servers repeat priming events as {}
			pos.noise = m.Raw
		}
		if !isJSON(ev.Data) {
			pos.noiseHasID = pos.noiseHasID || ev.ID != nil
			if !out.AcceptsAny { // else this event may be the only reply
				reportNonJSONEvent(t.inbox, m)
			}
			return Reply{}, false
		}
	}
	if out.AcceptsAny {
		ok = m.Kind != wire.Notification && m.Kind != wire.Request
		return Reply{Message: m}, ok
	}
	if m.Kind == wire.Batch && !out.AllowsBatch {
		if response, odd := irregularResponse(m, out); response != nil {
			return Reply{Message: response, Irregularity: odd}, true
		}
		if containsResponse(m, out.ID) {
			return Failed(mismatchFault(out, m)), true
		}
		t.inbox.Receive(m)
		return Reply{}, false
	}
	if m.Kind == wire.Notification {
		pos.canReuse = t.inbox.Receive(m)
		if pos.canReuse {
			pos.spareMessage = m
		}
		return Reply{}, false
	}
	if answer, odd := t.pickResponse(m, out); answer != nil {
		return Reply{Message: answer, Irregularity: odd}, true
	}
	if !isReply(m) {
		return Reply{}, false
	}
	if pos.id != "" { // the stream can be resumed, and may still bring the response
		reportStray(t.inbox, m)
		return Reply{}, false
	}
	if pos.strayResponse != nil { // only the latest is kept
		t.inbox.Receive(pos.strayResponse)
	}
	pos.strayResponse = m
	return Reply{}, false
}

// recordEvent records an event and the bytes before it that belong to no event.
func (rt *roundTrip) recordEvent(ev sse.Event) {
	if !rt.connector.rec.isRecording() {
		return
	}
	rt.record(wire.Noise, ev.Dropped)
	if !ev.IsEvent() {
		return
	}
	data := ev.Data
	if ev.Event == "endpoint" {
		data = []byte(redact.RedactURL(string(data))) // the URL contains the session's id
	}
	facts := &noFacts
	if ev.Facts != noFacts {
		own := ev.Facts
		facts = &own
	}
	rt.connector.rec.RecordBody(wire.Received, wire.Event, rt.stream, data, facts)
}

// noFacts are the facts of an event that has only data. Most events share them.
var noFacts sse.Facts

// streamEnd records how the stream ended and returns the fault for it.
func (rt *roundTrip) streamEnd(ctx context.Context, err error) *Fault {
	if large, ok := errors.AsType[sse.TooLargeError](err); ok {
		rt.connector.rec.recordClosed(rt.stream, wire.Sent, "cancelled", "over the limit")
		return TooLarge(large.Limit)
	}
	if _, isFile := errors.AsType[*spool.FileError](err); isFile {
		rt.connector.rec.recordClosed(rt.stream, wire.Sent, "cancelled", "the response could not be kept")
		return spoolFault(err)
	}
	if errors.Is(err, io.EOF) && ctx.Err() == nil {
		rt.connector.rec.recordClosed(rt.stream, wire.Received, "end", "")
		return &Fault{
			Kind: wire.Transport, Phase: "read", Reached: wire.Unknown,
			Text: "the stream ended before the response",
		}
	}
	rt.recordCut(ctx, err)
	f := cutFault(ctx, 0, err) // the number of bytes is not known, so the text is replaced
	if ctx.Err() == nil && f.Kind == wire.Transport {
		f.Text = fmt.Sprintf("the connection was closed before the response: %s", withoutURL(err))
	}
	return f
}
