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
func (e *legacy) listen(ctx context.Context, c *talk, sub *hearing) (wire.Outcome, remedy) {
	ear := c.stand(ctx)
	if isOver(ear.gone()) {
		return e.deaf(ctx, c, ear)
	}
	given := sub.Filter
	given.URIs = nil
	for _, uri := range sub.URIs {
		o, next := e.request(ctx, c, sub, "resources/subscribe", "uri", uri)
		switch {
		case o.Good():
			given.URIs = append(given.URIs, uri)
		case next != stop || o.RPC() == nil:
			return o, next
		}
	}
	if sub.LogLevel != "" {
		if o, next := e.request(ctx, c, sub, "logging/setLevel", "level", sub.LogLevel); !o.Good() && (next != stop || o.RPC() == nil) {
			return o, next
		}
	}
	sub.agreed(c, given)
	sub.begin(given)
	select {
	case <-ctx.Done():
		e.unsubscribe(c, given.URIs)
		return c.gaveUp(context.Cause(ctx)), stop
	case <-c.s.life.Done():
		return c.gaveUp(errClosed), stop
	case <-c.line().gone():
		return wire.Outcome{Kind: wire.Transport, Text: "the server is gone"}, reopen
	case <-ear.gone():
		return e.deaf(ctx, c, ear)
	}
}

// request sends one of the small requests that listening is made of. A refusal is
// reported.
func (e *legacy) request(ctx context.Context, c *talk, sub *hearing, method, member, value string) (wire.Outcome, remedy) {
	call := &Call{Method: method, Params: jsonraw.With(nil, member, jsonraw.Quote(value))}
	r := c.request(ctx, e, call, sub.patience(c.s.opt.Limits.Idle))
	o, next := c.outcome(e, call, r), c.remedy(ctx, call, r, c.now().untried)
	if c.tried(r); o.RPC() != nil && next == stop {
		c.found(wire.Warning, "refused", "the server refused "+method+" for "+value+": "+o.Text)
	}
	return o, next
}

// deaf says what became of the stream on which nothing can come any more. "404
// Not Found" means a session that is over, or a server that never had such a
// stream: it is asked.
func (e *legacy) deaf(ctx context.Context, c *talk, ear *ear) (wire.Outcome, remedy) {
	f := ear.refusal
	if f == nil { // another has opened the conversation anew
		return wire.Outcome{Kind: wire.Transport, Text: "the session has ended"}, reopen
	}
	o := c.outcome(e, &Call{}, failure(f))
	if f.kind == wire.Transport && f.status/100 != 3 {
		o.Hint = ""
	}
	if f.status == http.StatusConflict {
		o.Hint = "use a session with its own stream: " + wire.Run("listen -s URL")
	}
	if f.status == http.StatusNotFound && e.sessionID() != "" && !e.alive(ctx, c) && ctx.Err() == nil {
		o.Text = "the server no longer knows this session"
		return o, reopen
	}
	return o, stop
}

// unsubscribe leaves the server as it was found, as far as that takes no time.
func (e *legacy) unsubscribe(c *talk, uris []string) {
	ctx, stop := context.WithTimeout(c.s.life, graceForEnd)
	defer stop()
	for _, uri := range uris {
		call := &Call{Method: "resources/unsubscribe", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))}
		if r := c.request(ctx, e, call, graceForEnd); r.fault != nil {
			return
		}
	}
}
