package client

import (
	"context"
	"net/http"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// heard leaves all notifications to Options.Notified: none is meant for the client itself.
func (e *legacy) heard(*talk, *wire.Message) bool { return true }

// listen waits for what a server sends unasked on the line itself or, by Streamable
// HTTP, on the GET stream next to the requests. Changes of lists come without being
// asked for; updates are asked for resource by resource (2025-11-25 server/resources,
// "Subscriptions").
func (e *legacy) listen(ctx context.Context, t *talk, h *hearing) (wire.Outcome, remedy) {
	ear := t.stand(ctx)
	if isOver(ear.gone()) {
		return e.deaf(ctx, t, ear)
	}
	given := h.Filter
	given.URIs = nil
	for _, uri := range h.URIs {
		o, next := e.request(ctx, t, h, "resources/subscribe", "uri", uri)
		switch {
		case o.Good():
			given.URIs = append(given.URIs, uri)
		case next != stop || o.RPC() == nil:
			return o, next
		}
	}
	if h.LogLevel != "" {
		if o, next := e.request(ctx, t, h, "logging/setLevel", "level", h.LogLevel); !o.Good() && (next != stop || o.RPC() == nil) {
			return o, next
		}
	}
	h.agreed(t, given)
	h.begin(given)
	select {
	case <-ctx.Done():
		e.unsubscribe(t, given.URIs)
		return t.gaveUp(context.Cause(ctx)), stop
	case <-t.s.life.Done():
		return t.gaveUp(errClosed), stop
	case <-t.line().gone():
		return wire.Outcome{Kind: wire.Transport, Text: "the server is gone"}, reopen
	case <-ear.gone():
		return e.deaf(ctx, t, ear)
	}
}

// request sends one of the small requests that listening is made of. A refusal is
// reported.
func (e *legacy) request(ctx context.Context, t *talk, h *hearing, method, member, value string) (wire.Outcome, remedy) {
	call := &Call{Method: method, Params: jsonraw.With(nil, member, jsonraw.Quote(value))}
	r := t.request(ctx, e, call, h.patience(t.s.opt.Limits.Idle))
	o, next := t.outcome(e, call, r), t.remedy(ctx, call, r, t.now().untried)
	if t.tried(r); o.RPC() != nil && next == stop {
		t.found(wire.Warning, "refused", "the server refused "+method+" for "+value+": "+o.Text)
	}
	return o, next
}

// deaf says what became of the stream on which nothing can come any more. "404
// Not Found" means a session that is over, or a server that never had such a
// stream: it is asked.
func (e *legacy) deaf(ctx context.Context, t *talk, ear *ear) (wire.Outcome, remedy) {
	f := ear.refusal
	if f == nil { // another has opened the conversation anew
		return wire.Outcome{Kind: wire.Transport, Text: "the session has ended"}, reopen
	}
	o := t.outcome(e, &Call{}, failure(f))
	if f.kind == wire.Transport && f.status/100 != 3 {
		o.Hint = ""
	}
	if f.status == http.StatusConflict {
		o.Hint = "use a session with its own stream: " + wire.Run("listen -s URL")
	}
	if f.status == http.StatusNotFound && e.sessionID() != "" && !e.alive(ctx, t) && ctx.Err() == nil {
		o.Text = "the server no longer knows this session"
		return o, reopen
	}
	return o, stop
}

// unsubscribe leaves the server as it was found, as far as that takes no time.
func (e *legacy) unsubscribe(t *talk, uris []string) {
	ctx, stop := context.WithTimeout(t.s.life, graceForEnd)
	defer stop()
	for _, uri := range uris {
		call := &Call{Method: "resources/unsubscribe", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))}
		if r := t.request(ctx, e, call, graceForEnd); r.fault != nil {
			return
		}
	}
}
