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
func (e *legacy) handleNotification(*connection, *wire.Message) bool { return true }

// listen waits for what a server sends unasked on the line itself or, by Streamable
// HTTP, on the GET stream next to the requests. Changes of lists come without being
// asked for; updates are asked for resource by resource (2025-11-25 server/resources,
// "Subscriptions").
func (e *legacy) listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction) {
	stream := c.openGetStream(ctx)
	if pause.IsOver(stream.Gone()) {
		return e.streamClosed(ctx, c, stream)
	}
	accepted := sub.SubscriptionFilter
	accepted.URIs = nil
	for _, uri := range sub.URIs {
		o, next := e.sendSetup(ctx, c, sub, "resources/subscribe", "uri", uri)
		if o.Good() {
			accepted.URIs = append(accepted.URIs, uri)
		} else if next != noRetry || o.RPC() == nil {
			return o, next
		}
	}
	if sub.LogLevel != "" {
		if o, next := e.sendSetup(ctx, c, sub, "logging/setLevel", "level", sub.LogLevel); !o.Good() &&
			(next != noRetry || o.RPC() == nil) {
			return o, next
		}
	}
	sub.reportMissing(c, accepted)
	sub.markActive(accepted)
	select {
	case <-ctx.Done():
		e.unsubscribe(c, accepted.URIs)
		return c.notSent(context.Cause(ctx)), noRetry
	case <-c.s.lifetime.Done():
		return c.notSent(transport.ErrClosed), noRetry
	case <-c.transport().Gone():
		return wire.Outcome{Kind: wire.Transport, Text: "the server is gone"}, reconnect
	case <-stream.Gone():
		return e.streamClosed(ctx, c, stream)
	}
}

// request sends one of the small requests that listening is made of. A refusal is
// reported.
func (e *legacy) sendSetup(
	ctx context.Context,
	c *connection,
	sub *subscription,
	method, member, value string,
) (wire.Outcome, retryAction) {
	call := &Call{Method: method, Params: jsonraw.With(nil, member, jsonraw.Quote(value))}
	r := c.request(ctx, e, call, sub.acknowledgementLimit(c.s.opt.Limits.Idle))
	o := c.outcome(e, call, r)
	next := c.retryAction(ctx, call, r, c.load().unconfirmed)
	c.markAnswered(r)
	if o.RPC() != nil && next == noRetry {
		c.addFinding(wire.Warning, "refused", "the server refused "+method+" for "+value+": "+o.Text)
	}
	return o, next
}

// streamClosed says what became of the stream on which nothing can come any more. A refusal
// may mean a session that is over: then the server is asked.
func (e *legacy) streamClosed(
	ctx context.Context,
	c *connection,
	stream *transport.GetStream,
) (wire.Outcome, retryAction) {
	f := stream.Refusal
	if f == nil { // another has opened the conversation anew
		return wire.Outcome{Kind: wire.Transport, Text: "the session has ended"}, reconnect
	}
	o := c.outcome(e, &Call{}, failedReply(f))
	if f.Kind == wire.Transport && f.Status/100 != 3 {
		o.Hint = ""
	}
	if f.Status == http.StatusConflict {
		o.Hint = "use a session with its own stream: " + wire.Run("listen -s URL")
	}
	if e.mayHaveLostSession(c, stream) && !e.stillValid(ctx, c, nil, true) && ctx.Err() == nil {
		o.Text = "the server no longer knows this session"
		return o, reconnect
	}
	return o, noRetry
}

// mayBeLost reports whether the stream may have been refused because of the session. Servers
// without such a stream refuse it, too, but not if it was open before.
func (e *legacy) mayHaveLostSession(c *connection, stream *transport.GetStream) bool {
	status := stream.Refusal.Status
	if e.sessionID() == "" || !transport.IsRefusal(status) || status == http.StatusConflict {
		return false
	}
	if status == http.StatusNotFound {
		return true
	}
	return stream.WasOpen() || status != http.StatusMethodNotAllowed && c.load().unconfirmed
}

// unsubscribe leaves the server as it was found, as far as that takes no time.
func (e *legacy) unsubscribe(c *connection, uris []string) {
	ctx, stop := context.WithTimeout(c.s.lifetime, transport.SessionEndGrace)
	defer stop()
	for _, uri := range uris {
		call := &Call{Method: "resources/unsubscribe", Params: jsonraw.With(nil, "uri", jsonraw.Quote(uri))}
		if r := c.request(ctx, e, call, transport.SessionEndGrace); r.Fault != nil {
			return
		}
	}
}
