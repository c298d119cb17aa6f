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
	// come any more; refusal then says why, or is nil where the client closed the stream.
	headed, over chan struct{}
	refusal      *fault
	listeners    StreamListeners
}

// StreamListeners learn what becomes of a getStream. Lost is called with the reason when
// the stream ended and before it is opened again, Restored when it is open again and
// messages may have been missed. Lost and Active report whether any listener is left.
type StreamListeners interface {
	Lost(why string) bool
	Restored()
	Active() bool
}

// listenBeside opens the stream that stands beside the requests, which have the header
// fields as they are when it is opened. It ends with life, or when end is called.
func (t *httpTransport) listenBeside(life context.Context, fields func() []wire.Field, listeners StreamListeners) *ear {
	life, cancel := context.WithCancel(life)
	h := &ear{line: t, fields: fields, cancel: cancel, headed: make(chan struct{}), over: make(chan struct{}), listeners: listeners}
	go h.run(life)
	return h
}

// graceForHead is how long a request waits for the stream that is opened next
// to it: some servers send no head before there is a first event.
const graceForHead = time.Second

// settle waits a moment for the stream to stand.
func (h *ear) settle(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, graceForHead)
	defer stop()
	select {
	case <-h.headed:
	case <-h.over:
	case <-ctx.Done():
	}
}

// end closes the stream. It is safe on none.
func (h *ear) end() {
	if h != nil {
		h.cancel()
		<-h.over
	}
}

// run opens the stream and opens it again whenever it ends.
func (h *ear) run(ctx context.Context) {
	defer close(h.over)
	at := &cursor{seen: newRecent()}
	tr, f := h.line.openStream(ctx, h.fields(), "")
	if f != nil {
		h.refuse(ctx, f)
		return
	}
	close(h.headed)
	for attempt := 1; f == nil; {
		var alive bool
		if alive, f = h.hear(ctx, tr, at); alive {
			attempt = 1
		}
		if f.kind != wire.BadResponse && ctx.Err() == nil {
			missed := h.broke(f, at)
			if tr, attempt, f = h.reopen(ctx, at, attempt); f == nil && missed {
				h.listeners.Restored()
			}
		}
	}
	h.giveUp(ctx, f)
}

// reopen asks for the stream again until the server gives it or a refusal is
// final. A 409, from a server that has not noticed the break yet, is not, nor is a
// network error: only the time between two attempts grows.
func (h *ear) reopen(ctx context.Context, at *cursor, attempt int) (*trip, int, *fault) {
	for ; at.pause(ctx, attempt); attempt++ {
		tr, f := h.line.openStream(ctx, h.fields(), at.id)
		if f == nil || isFinal(f) {
			return tr, attempt + 1, f
		}
	}
	return nil, attempt, cutFault(ctx, 0, ctx.Err())
}

// hear passes on what comes. No response belongs here. The stream was alive if it
// brought a message or stood for a while.
func (h *ear) hear(ctx context.Context, tr *trip, at *cursor) (alive bool, f *fault) {
	began := h.line.rec.now()
	f = h.line.each(ctx, tr, at, func(ev sse.Event) bool {
		if ev.IsMessage() {
			alive = true
			if m := wire.ParseMessage(ev.Data); isReply(m) {
				strayed(h.line.inbox, m)
			} else {
				h.line.inbox.receive(m)
			}
		}
		return false
	})
	return alive || h.line.rec.now().Sub(began) >= longRetry, f
}

// refuse tells that there is no stream. To offer none is a server's right.
func (h *ear) refuse(ctx context.Context, f *fault) {
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
	h.settleOn(ctx, f, finding)
}

// giveUp tells that what was there is gone for good.
func (h *ear) giveUp(ctx context.Context, f *fault) {
	h.settleOn(ctx, f, wire.Finding{Rule: "stream_lost", Level: wire.Warning,
		Text: "the GET stream for notifications is closed: " + f.answer()})
}

// settleOn keeps why nothing will come any more. Without a Listen it is a finding.
func (h *ear) settleOn(ctx context.Context, f *fault, finding wire.Finding) {
	if ctx.Err() != nil {
		return
	}
	f.text = finding.Text
	if h.refusal = f; !h.listeners.Active() {
		h.line.inbox.finding(finding)
	}
}

// broke reports that the stream ended: to each Listen if something may have been
// missed, else as a finding. Servers may end it in good order whenever they like, and many do to
// save a connection (2025-11-25 basic/transports); where they number their events
// nothing is missed then.
func (h *ear) broke(f *fault, at *cursor) (missed bool) {
	why, level := "the GET stream for notifications "+broke(f), wire.Info
	if f.err != nil {
		level = wire.Warning
	}
	missed = f.err != nil || at.id == ""
	if !missed || !h.listeners.Lost(why) {
		h.line.inbox.finding(wire.Finding{Rule: "stream_lost", Level: level, Text: why + "; reconnecting"})
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
func (h *ear) gone() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.over
}
