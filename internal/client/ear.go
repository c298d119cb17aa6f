package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// An ear is the stream that a client of Streamable HTTP opens with GET while
// there are sessions: on it comes what belongs to no request that is under way
// (2025-11-25 basic/transports, "Listening for Messages from the Server"). No
// server has to offer it, and none has to keep it open: a stream that ends is
// opened again behind its last event until the session is closed.
type ear struct {
	line   *httpTransport
	fields func() []wire.Field
	cancel context.CancelFunc
	// headed is closed when the server has opened the stream, over when nothing will
	// come any more.
	headed, over chan struct{}
	// refusal says why, once over is closed; nil where the client closed the stream.
	refusal   *fault
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

// listenBeside opens the stream in the background. fields gives its header fields when it is
// opened. The stream ends with life, or when Close is called.
func (t *httpTransport) listenBeside(life context.Context, fields func() []wire.Field, listeners StreamListeners) *ear {
	life, cancel := context.WithCancel(life)
	g := &ear{line: t, fields: fields, cancel: cancel, headed: make(chan struct{}), over: make(chan struct{}), listeners: listeners}
	go g.run(life)
	return g
}

// graceForHead is how long a request waits for the stream that is opened next
// to it: some servers send no head before there is a first event.
const graceForHead = time.Second

// settle waits a moment for the stream to stand.
func (g *ear) settle(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, graceForHead)
	defer stop()
	select {
	case <-g.headed:
	case <-g.over:
	case <-ctx.Done():
	}
}

// end closes the stream. It is safe on none.
func (g *ear) end() {
	if g != nil {
		g.cancel()
		<-g.over
	}
}

// run opens the stream and opens it again whenever it ends.
func (g *ear) run(ctx context.Context) {
	defer close(g.over)
	at := &cursor{seen: newRecent()}
	rt, f := g.line.openStream(ctx, g.fields(), "")
	if f != nil {
		g.refuse(ctx, f)
		return
	}
	close(g.headed)
	for attempt := 1; f == nil; {
		var alive bool
		if alive, f = g.hear(ctx, rt, at); alive {
			attempt = 1
		}
		if f.kind != wire.BadResponse && ctx.Err() == nil {
			missed := g.broke(f, at)
			if rt, attempt, f = g.reopen(ctx, at, attempt); f == nil && missed {
				g.listeners.Restored()
			}
		}
	}
	g.giveUp(ctx, f)
}

// reopen asks for the stream again until the server gives it or a refusal is
// final. A 409, from a server that has not noticed the break yet, is not, nor is a
// network error: only the time between two attempts grows.
func (g *ear) reopen(ctx context.Context, at *cursor, attempt int) (*trip, int, *fault) {
	for ; at.pause(ctx, attempt); attempt++ {
		rt, f := g.line.openStream(ctx, g.fields(), at.id)
		if f == nil || isFinal(f) {
			return rt, attempt + 1, f
		}
	}
	return nil, attempt, cutFault(ctx, 0, ctx.Err())
}

// hear passes on what comes. No response belongs here. The stream was alive if it
// brought a message or stood for a while.
func (g *ear) hear(ctx context.Context, rt *trip, at *cursor) (alive bool, f *fault) {
	began := g.line.rec.now()
	f = g.line.each(ctx, rt, at, func(ev sse.Event) bool {
		if ev.IsMessage() {
			alive = true
			if m := wire.ParseMessage(ev.Data); isReply(m) {
				strayed(g.line.inbox, m)
			} else {
				g.line.inbox.receive(m)
			}
		}
		return false
	})
	return alive || g.line.rec.now().Sub(began) >= longRetry, f
}

// refuse tells that there is no stream. To offer none is a server's right.
func (g *ear) refuse(ctx context.Context, f *fault) {
	finding := wire.Finding{Rule: "no_stream", Level: wire.Info,
		Text: "the server has no GET stream for notifications (" + f.answer() + ")"}
	switch {
	case f.status == http.StatusConflict:
		finding.Rule, finding.Level = "stream_held", wire.Warning
		finding.Text = "another client uses this session's GET stream for notifications (" + f.answer() + ")"
	case f.kind == wire.Transport && f.reached == wire.Unsent:
		// The server is not reachable: the request next to the stream reports that.
		finding.Text = "the GET stream for notifications could not be opened: " + f.answer()
	case f.kind == wire.Auth || !isFinal(f) || f.status < 400:
		finding.Level = wire.Warning
		finding.Text = "the GET stream for notifications could not be opened: " + f.answer()
	}
	g.settleOn(ctx, f, finding)
}

// giveUp tells that what was there is gone for good.
func (g *ear) giveUp(ctx context.Context, f *fault) {
	g.settleOn(ctx, f, wire.Finding{Rule: "stream_lost", Level: wire.Warning,
		Text: "the GET stream for notifications is closed: " + f.answer()})
}

// settleOn keeps why nothing will come any more. Without a Listen it is a finding.
func (g *ear) settleOn(ctx context.Context, f *fault, finding wire.Finding) {
	if ctx.Err() != nil {
		return
	}
	f.text = finding.Text
	if g.refusal = f; !g.listeners.Active() {
		g.line.inbox.finding(finding)
	}
}

// broke reports that the stream ended: to each Listen if something may have been
// missed, else as a finding. Servers may end it in good order whenever they like, and many do to
// save a connection (2025-11-25 basic/transports); where they number their events
// nothing is missed then.
func (g *ear) broke(f *fault, at *cursor) (missed bool) {
	why, level := "the GET stream for notifications "+broke(f), wire.Info
	if f.err != nil {
		level = wire.Warning
	}
	missed = f.err != nil || at.id == ""
	if !missed || !g.listeners.Lost(why) {
		g.line.inbox.finding(wire.Finding{Rule: "stream_lost", Level: level, Text: why + "; reconnecting"})
	}
	return missed
}

// broke says how a stream ended that had nothing to end for.
func broke(f *fault) string {
	if f.err == nil {
		return "was closed by the server"
	}
	return "broke (" + withoutURL(f.err).Error() + ")"
}

// answer is what a server answered in place of a stream.
func (f *fault) answer() string {
	if f.status/100 == 3 { // it says where that leads
		return strings.TrimPrefix(f.text, "the server answered ")
	}
	if f.status != 0 {
		return fmt.Sprintf("HTTP %d %s", f.status, http.StatusText(f.status))
	}
	return f.text
}

// isFinal reports a refusal that another attempt will not change.
func isFinal(f *fault) bool {
	switch f.status {
	case 0, http.StatusConflict, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return false
	}
	return f.status/100 != 5 || f.status == http.StatusNotImplemented
}

// gone is closed when nothing can come any more, and nil on no stream.
func (g *ear) gone() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.over
}
