package transport

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"mcpc/internal/pause"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A GetStream is the stream that a client of Streamable HTTP opens with GET during a session. The
// server sends messages on it that belong to no open request (2025-11-25 basic/transports,
// "Listening for Messages from the Server"). A server need not offer it or keep it open. A stream
// that ends is resumed after its last event until the session is closed.
type GetStream struct {
	http   *HTTP
	fields func() []wire.Field
	cancel context.CancelFunc
	// opened is closed when the server has opened the stream, done when no message can arrive any more.
	opened, done chan struct{}
	// Refusal is why no message can arrive, once done is closed. It is nil if the client closed the
	// stream.
	Refusal   *Fault
	listeners StreamListeners
}

// StreamListeners are notified of a GetStream's interruptions. Lost is called with the reason when
// the stream ends, Restored when it is open again and messages may have been missed. Lost and Active
// report whether any listener is left.
type StreamListeners interface {
	Lost(why string) bool
	Restored()
	Active() bool
}

// OpenGetStream opens the stream in the background. fields returns the header fields each time the
// stream is opened. The stream ends with ctx, or when Close is called.
func (t *HTTP) OpenGetStream(ctx context.Context, fields func() []wire.Field, listeners StreamListeners) *GetStream {
	ctx, cancel := context.WithCancel(ctx)
	g := &GetStream{
		http:      t,
		fields:    fields,
		cancel:    cancel,
		opened:    make(chan struct{}),
		done:      make(chan struct{}),
		listeners: listeners,
	}
	go g.run(ctx)
	return g
}

// headGrace is how long a request waits for the stream that is opened beside it: some servers
// send no header before the first event.
const headGrace = time.Second

// WaitOpen waits until the stream is open, at most for headGrace.
func (g *GetStream) WaitOpen(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, headGrace)
	defer stop()
	select {
	case <-g.opened:
	case <-g.done:
	case <-ctx.Done():
	}
}

// WasOpen reports whether the server has opened the stream.
func (g *GetStream) WasOpen() bool { return pause.IsOver(g.opened) }

// Close closes the stream. It does nothing for nil.
func (g *GetStream) Close() {
	if g != nil {
		g.cancel()
		<-g.done
	}
}

// run opens the stream and reopens it whenever it ends, until ctx is done or the server refuses it for
// good. A first attempt that fails is not repeated.
func (g *GetStream) run(ctx context.Context) {
	defer close(g.done)
	pos := &streamPosition{seen: NewRecentIDs()}
	rt, f := g.http.openStream(ctx, g.fields(), "")
	if f != nil {
		g.reportRefusal(ctx, f)
		return
	}
	close(g.opened)
	for attempt := 1; f == nil; {
		var alive bool
		alive, f = g.deliver(ctx, rt, pos) // never nil: it says how the stream ended
		if alive {
			attempt = 1
		}
		if f.Kind != wire.BadResponse && ctx.Err() == nil { // a bad response would only be repeated
			missed := g.reportBreak(f, pos)
			rt, attempt, f = g.reopen(ctx, pos, attempt)
			if f == nil && missed {
				g.listeners.Restored()
			}
		}
	}
	g.reportClosed(ctx, f)
}

// reopen requests the stream until the server opens it, refuses it permanently or ctx is done. It
// retries after network errors, and after a 409 of a server that has not noticed the interruption;
// their number is not limited, but the time between them grows with attempt. It returns the opened
// stream, or a fault, and the number of the next attempt.
func (g *GetStream) reopen(ctx context.Context, pos *streamPosition, attempt int) (*roundTrip, int, *Fault) {
	for ; pos.pause(ctx, attempt); attempt++ {
		rt, f := g.http.openStream(ctx, g.fields(), pos.id)
		if f == nil || IsPermanent(f) {
			return rt, attempt + 1, f
		}
	}
	return nil, attempt, cutFault(ctx, 0, ctx.Err()) // 0 bytes were read
}

// RuleGetNoise is the rule of a finding about an event on a GET stream that is not JSON.
const RuleGetNoise = "get_stream_noise"

// deliver passes the stream's messages to the inbox until the stream ends. It reports whether the
// stream brought a message or was open for MaxBackoff.
func (g *GetStream) deliver(ctx context.Context, rt *roundTrip, pos *streamPosition) (alive bool, f *Fault) {
	began := g.http.rec.Now()
	f = g.http.eachEvent(ctx, rt, pos, func(ev sse.Event) bool {
		if ev.IsMessage() {
			alive = true
			g.handle(wire.ParseMessage(ev.Data))
		}
		return false // go on: no message ends this stream
	})
	return alive || g.http.rec.Now().Sub(began) >= MaxBackoff, f
}

// handle passes a message to the inbox, or reports it if it is a response or not JSON.
func (g *GetStream) handle(m *wire.Message) {
	if isReply(m) {
		reportStray(g.http.inbox, m)
	} else if m.Kind == wire.Invalid && !isJSON(m.Raw) {
		text := "an event on the GET stream is not JSON" + ignoredText(m)
		g.http.inbox.Repeated(wire.Finding{Rule: RuleGetNoise, Severity: wire.Warning, Text: text},
			"events on the GET stream are not JSON, ignored")
	} else {
		g.http.inbox.Receive(m)
	}
}

// reportRefusal reports that the server did not open the stream. A server need not offer one, so that is
// only information.
func (g *GetStream) reportRefusal(ctx context.Context, f *Fault) {
	finding := wire.Finding{
		Rule: "no_stream", Severity: wire.Info,
		Text: "the server has no GET stream for notifications (" + f.describeResponse() + ")",
	}
	switch {
	case f.Status == http.StatusConflict:
		finding.Rule = "stream_held"
		finding.Severity = wire.Warning
		finding.Text = "another client uses this session's GET stream for notifications (" + f.describeResponse() + ")"
	case f.Kind == wire.Transport && f.Reached == wire.Unsent:
		// The server is not reachable: the request next to the stream reports that.
		finding.Text = "the GET stream for notifications could not be opened: " + f.describeResponse()
	case f.Kind == wire.Auth || !IsPermanent(f) || f.Status < 400:
		// The server may have a stream: it wants a login, is overloaded or broken, or redirects.
		finding.Severity = wire.Warning
		finding.Text = "the GET stream for notifications could not be opened: " + f.describeResponse()
	}
	g.finish(ctx, f, finding)
}

// reportClosed reports that the stream is closed and will not be reopened.
func (g *GetStream) reportClosed(ctx context.Context, f *Fault) {
	g.finish(ctx, f, wire.Finding{
		Rule: "stream_lost", Severity: wire.Warning,
		Text: "the GET stream for notifications is closed: " + f.describeResponse(),
	})
}

// finish sets Refusal to f. It reports the finding unless a listener is active, which reports
// Refusal itself. It does nothing if ctx is done.
func (g *GetStream) finish(ctx context.Context, f *Fault, finding wire.Finding) {
	if ctx.Err() != nil {
		return
	}
	f.Text = finding.Text
	g.Refusal = f
	if !g.listeners.Active() {
		g.http.inbox.Finding(finding)
	}
}

// reportBreak reports that the stream ended: to the listeners if a message may have been missed,
// else as a finding. Servers may close the stream at any time, and many do to save a connection
// (2025-11-25 basic/transports); if their events have ids, no message is missed then. It reports
// whether a message may have been missed.
func (g *GetStream) reportBreak(f *Fault, pos *streamPosition) bool {
	why := "the GET stream for notifications " + HowEnded(f)
	level := wire.Info
	if f.Err != nil {
		level = wire.Warning
	}
	missed := f.Err != nil || pos.id == ""
	if !missed || !g.listeners.Lost(why) {
		g.http.inbox.Finding(wire.Finding{Rule: "stream_lost", Severity: level, Text: why + "; reconnecting"})
	}
	return missed
}

// HowEnded returns how a stream ended, for a text whose subject is the stream.
func HowEnded(f *Fault) string {
	if f.Err == nil {
		return "was closed by the server"
	}
	return "broke (" + withoutURL(f.Err).Error() + ")"
}

// describeResponse returns what the server answered instead of a stream.
func (f *Fault) describeResponse() string {
	if f.response != "" {
		return f.response
	}
	if f.Status != 0 {
		return fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status))
	}
	return f.Text
}

// IsPermanent reports whether the server's refusal will not change with another attempt. It is false
// without an HTTP status, and for an overloaded or failing server.
func IsPermanent(f *Fault) bool {
	switch f.Status {
	case 0, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return f.Status/100 != 5 || f.Status == http.StatusNotImplemented
}

// Gone returns a channel that is closed when no message can arrive any more, or nil if g is nil.
func (g *GetStream) Gone() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.done
}

// openStream requests a stream with GET: a new stream, or, if lastID is not "", the continuation after
// the event with that id. It returns a fault for any response that is not a stream of events. The
// caller closes the body.
func (t *HTTP) openStream(ctx context.Context, fields []wire.Field, lastID string) (*roundTrip, *Fault) {
	if lastID != "" {
		fields = append(append([]wire.Field{}, fields...), wire.Field{Name: "Last-Event-ID", Value: lastID})
	}
	rt, f := t.roundTrip(ctx, http.MethodGet, &Outgoing{Fields: fields})
	if f == nil && (rt.resp.StatusCode != http.StatusOK || mediaType(rt.resp) != "text/event-stream") {
		body := t.refusalBody(rt)
		rt.record(wire.Body, body)
		rt.resp.Body.Close()
		f = rt.refusal(nil)
		if m := wire.ParseMessage(body); m.Kind == wire.ErrorResponse {
			f.Text += ": " + m.Error.Message
		}
	}
	if f != nil {
		return nil, f
	}
	return rt, nil
}
