package transport

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcpc/internal/pause"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A GetStream is the stream that a client of Streamable HTTP opens with GET while
// there are sessions: on it comes what belongs to no request that is under way
// (2025-11-25 basic/transports, "Listening for Messages from the Server"). No
// server has to offer it, and none has to keep it open: a stream that ends is
// opened again behind its last event until the session is closed.
type GetStream struct {
	line   *HTTP
	fields func() []wire.Field
	cancel context.CancelFunc
	// opened is closed when the server has opened the stream, over when nothing will
	// come any more.
	opened, over chan struct{}
	// Refusal says why, once over is closed; nil where the client closed the stream.
	Refusal   *Fault
	listeners StreamListeners
}

// StreamListeners learn what becomes of a getStream. Lost is called with the reason when
// the stream ended and before it is opened again, Restored when it is open again and
// messages may have been missed. Lost and Active report whether any listener is left.
type StreamListeners interface {
	Lost(why string) bool
	Restored()
	Active() bool
}

// OpenGetStream opens the stream in the background. fields gives its header fields when it is
// opened. The stream ends with life, or when Close is called.
func (t *HTTP) OpenGetStream(life context.Context, fields func() []wire.Field, listeners StreamListeners) *GetStream {
	life, cancel := context.WithCancel(life)
	g := &GetStream{
		line:      t,
		fields:    fields,
		cancel:    cancel,
		opened:    make(chan struct{}),
		over:      make(chan struct{}),
		listeners: listeners,
	}
	go g.run(life)
	return g
}

// graceForHead is how long a request waits for the stream that is opened next
// to it: some servers send no head before there is a first event.
const graceForHead = time.Second

// WaitOpen waits a moment for the stream to stand.
func (g *GetStream) WaitOpen(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, graceForHead)
	defer stop()
	select {
	case <-g.opened:
	case <-g.over:
	case <-ctx.Done():
	}
}

// WasOpen reports whether the server has opened the stream.
func (g *GetStream) WasOpen() bool { return pause.IsOver(g.opened) }

// Close closes the stream. It is safe on none.
func (g *GetStream) Close() {
	if g != nil {
		g.cancel()
		<-g.over
	}
}

// run opens the stream and opens it again whenever it ends.
func (g *GetStream) run(ctx context.Context) {
	defer close(g.over)
	at := &streamPosition{seen: NewRecentIDs()}
	rt, f := g.line.openStream(ctx, g.fields(), "")
	if f != nil {
		g.refuse(ctx, f)
		return
	}
	close(g.opened)
	for attempt := 1; f == nil; {
		var alive bool
		alive, f = g.deliver(ctx, rt, at)
		if alive {
			attempt = 1
		}
		if f.Kind != wire.BadResponse && ctx.Err() == nil {
			missed := g.reportBreak(f, at)
			rt, attempt, f = g.reopen(ctx, at, attempt)
			if f == nil && missed {
				g.listeners.Restored()
			}
		}
	}
	g.giveUp(ctx, f)
}

// reopen asks for the stream again until the server gives it or a refusal is
// final. A 409, from a server that has not noticed the break yet, is not, nor is a
// network error: only the time between two attempts grows.
func (g *GetStream) reopen(ctx context.Context, at *streamPosition, attempt int) (*roundTrip, int, *Fault) {
	for ; at.pause(ctx, attempt); attempt++ {
		rt, f := g.line.openStream(ctx, g.fields(), at.id)
		if f == nil || IsPermanent(f) {
			return rt, attempt + 1, f
		}
	}
	return nil, attempt, cutFault(ctx, 0, ctx.Err())
}

// RuleGetNoise is the rule of a finding about an event on a GET stream that is not JSON. No
// response comes after it that could be rejected.
const RuleGetNoise = "get_stream_noise"

// deliver passes on what comes. No response belongs here. The stream was alive if it
// brought a message or stood for a while.
func (g *GetStream) deliver(ctx context.Context, rt *roundTrip, at *streamPosition) (alive bool, f *Fault) {
	began := g.line.rec.Now()
	f = g.line.each(ctx, rt, at, func(ev sse.Event) bool {
		if ev.IsMessage() {
			alive = true
			switch m := wire.ParseMessage(ev.Data); {
			case isReply(m):
				strayed(g.line.inbox, m)
			case m.Kind == wire.Invalid && !isJSON(ev.Data):
				text := "an event on the GET stream is not JSON" + ignored(m)
				g.line.inbox.Repeated(wire.Finding{Rule: RuleGetNoise, Level: wire.Warning, Text: text},
					"events on the GET stream are not JSON, ignored")
			default:
				g.line.inbox.Receive(m)
			}
		}
		return false
	})
	return alive || g.line.rec.Now().Sub(began) >= MaxBackoff, f
}

// refuse tells that there is no stream. To offer none is a server's right.
func (g *GetStream) refuse(ctx context.Context, f *Fault) {
	finding := wire.Finding{Rule: "no_stream", Level: wire.Info,
		Text: "the server has no GET stream for notifications (" + f.answer() + ")"}
	switch {
	case f.Status == http.StatusConflict:
		finding.Rule = "stream_held"
		finding.Level = wire.Warning
		finding.Text = "another client uses this session's GET stream for notifications (" + f.answer() + ")"
	case f.Kind == wire.Transport && f.Reached == wire.Unsent:
		// The server is not reachable: the request next to the stream reports that.
		finding.Text = "the GET stream for notifications could not be opened: " + f.answer()
	case f.Kind == wire.Auth || !IsPermanent(f) || f.Status < 400:
		finding.Level = wire.Warning
		finding.Text = "the GET stream for notifications could not be opened: " + f.answer()
	}
	g.settleOn(ctx, f, finding)
}

// giveUp tells that what was there is gone for good.
func (g *GetStream) giveUp(ctx context.Context, f *Fault) {
	g.settleOn(ctx, f, wire.Finding{Rule: "stream_lost", Level: wire.Warning,
		Text: "the GET stream for notifications is closed: " + f.answer()})
}

// settleOn keeps why nothing will come any more. Without a Listen it is a finding.
func (g *GetStream) settleOn(ctx context.Context, f *Fault, finding wire.Finding) {
	if ctx.Err() != nil {
		return
	}
	f.Text = finding.Text
	g.Refusal = f
	if !g.listeners.Active() {
		g.line.inbox.Finding(finding)
	}
}

// reportBreak reports that the stream ended: to each Listen if something may have been
// missed, else as a finding. Servers may end it in good order whenever they like, and many do to
// save a connection (2025-11-25 basic/transports); where they number their events
// nothing is missed then.
func (g *GetStream) reportBreak(f *Fault, at *streamPosition) (missed bool) {
	why := "the GET stream for notifications " + HowEnded(f)
	level := wire.Info
	if f.Err != nil {
		level = wire.Warning
	}
	missed = f.Err != nil || at.id == ""
	if !missed || !g.listeners.Lost(why) {
		g.line.inbox.Finding(wire.Finding{Rule: "stream_lost", Level: level, Text: why + "; reconnecting"})
	}
	return missed
}

// HowEnded says how a stream ended that had nothing to end for.
func HowEnded(f *Fault) string {
	if f.Err == nil {
		return "was closed by the server"
	}
	return "broke (" + withoutURL(f.Err).Error() + ")"
}

// answer is what a server answered in place of a stream.
func (f *Fault) answer() string {
	if f.Status/100 == 3 { // it says where that leads
		return strings.TrimPrefix(f.Text, "the server answered ")
	}
	if f.Status != 0 {
		return fmt.Sprintf("HTTP %d %s", f.Status, http.StatusText(f.Status))
	}
	return f.Text
}

// IsPermanent reports a refusal that another attempt will not change.
func IsPermanent(f *Fault) bool {
	switch f.Status {
	case 0, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return f.Status/100 != 5 || f.Status == http.StatusNotImplemented
}

// Gone is closed when nothing can come any more, and nil on no stream.
func (g *GetStream) Gone() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.over
}

// openStream asks for a stream with GET: the one that goes on behind the event
// with that id, or, where it is "", one of its own.
func (t *HTTP) openStream(ctx context.Context, fields []wire.Field, behind string) (*roundTrip, *Fault) {
	if behind != "" {
		fields = append(append([]wire.Field{}, fields...), wire.Field{Name: "Last-Event-ID", Value: behind})
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
