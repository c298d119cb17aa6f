package client

import (
	"context"
	"net/http"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// takeNotification leaves all notifications to Options.Notified: none is meant for the client itself.
func (e *legacy) takeNotification(*connection, *wire.Message) bool { return true }

// listen waits for what a server sends unasked on the line itself or, by Streamable
// HTTP, on the GET stream next to the requests. Changes of lists come without being
// asked for; updates are asked for resource by resource (2025-11-25 server/resources,
// "Subscriptions").
func (e *legacy) listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction) {
	ear := c.openGetStream(ctx)
	if pause.IsOver(ear.Gone()) {
		return e.streamClosed(ctx, c, ear)
	}
	given := sub.SubscriptionFilter
	given.URIs = nil
	for _, uri := range sub.URIs {
		o, next := e.request(ctx, c, sub, "resources/subscribe", "uri", uri)
		if o.Good() {
			given.URIs = append(given.URIs, uri)
		} else if next != noRetry || o.RPC() == nil {
			return o, next
		}
	}
	if sub.LogLevel != "" {
		if o, next := e.request(ctx, c, sub, "logging/setLevel", "level", sub.LogLevel); !o.Good() &&
			(next != noRetry || o.RPC() == nil) {
			return o, next
		}
	}
	sub.agreed(c, given)
	sub.begin(given)
	select {
	case <-ctx.Done():
		e.unsubscribe(c, given.URIs)
		return c.gaveUp(context.Cause(ctx)), noRetry
	case <-c.s.life.Done():
		return c.gaveUp(transport.ErrClosed), noRetry
	case <-c.line().Gone():
		return wire.Outcome{Kind: wire.Transport, Text: "the server is gone"}, reconnect
	case <-ear.Gone():
		return e.streamClosed(ctx, c, ear)
	}
}

// request sends one of the small requests that listening is made of. A refusal is
// reported.
func (e *legacy) request(
	ctx context.Context,
	c *connection,
	sub *subscription,
	method, member, value string,
) (wire.Outcome, retryAction) {
	call := &Call{Method: method, Params: jsonraw.With(nil, member, jsonraw.Quote(value))}
	r := c.request(ctx, e, call, sub.patience(c.s.opt.Limits.Idle))
	o := c.outcome(e, call, r)
	next := c.retryAction(ctx, call, r, c.now().untried)
	c.tried(r)
	if o.RPC() != nil && next == noRetry {
		c.found(wire.Warning, "refused", "the server refused "+method+" for "+value+": "+o.Text)
	}
	return o, next
}

// streamClosed says what became of the stream on which nothing can come any more. A refusal
// may mean a session that is over: then the server is asked.
func (e *legacy) streamClosed(
	ctx context.Context,
	c *connection,
	ear *transport.GetStream,
) (wire.Outcome, retryAction) {
	f := ear.Refusal
	if f == nil { // another has opened the conversation anew
		return wire.Outcome{Kind: wire.Transport, Text: "the session has ended"}, reconnect
	}
	o := c.outcome(e, &Call{}, failure(f))
	if f.Kind == wire.Transport && f.Status/100 != 3 {
		o.Hint = ""
	}
	if f.Status == http.StatusConflict {
		o.Hint = "use a session with its own stream: " + wire.Run("listen -s URL")
	}
	if e.mayBeLost(c, ear) && !e.alive(ctx, c, nil, true) && ctx.Err() == nil {
		o.Text = "the server no longer knows this session"
		return o, reconnect
	}
	return o, noRetry
}

// mayBeLost reports whether the stream may have been refused because of the session. Servers
// without such a stream refuse it, too, but not if it was open before.
func (e *legacy) mayBeLost(c *connection, ear *transport.GetStream) bool {
	status := ear.Refusal.Status
	if e.sessionID() == "" || !transport.IsRefusal(status) || status == http.StatusConflict {
		return false
	}
	if status == http.StatusNotFound {
		return true
	}
	return ear.WasOpen() || status != http.StatusMethodNotAllowed && c.now().untried
}

// unsubscribe leaves the server as it was found, as far as that takes no time.
func (e *legacy) unsubscribe(c *connection, uris []string) {
	ctx, stop := context.WithTimeout(c.s.life, transport.SessionEndGrace)
	defer stop()
	for _, uri := range uris {
		call := &Call{Method: "resources/unsubscribe", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))}
		if r := c.request(ctx, e, call, transport.SessionEndGrace); r.Fault != nil {
			return
		}
	}
}
