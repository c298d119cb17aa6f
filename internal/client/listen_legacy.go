package client

import (
	"context"
	"net/http"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// handleNotification reports true: no notification is for the client itself.
func (e *legacy) handleNotification(*connection, *wire.Message) bool { return true }

// listen waits for notifications on the transport or, over Streamable HTTP, on the GET stream. List
// changes need no subscription; updates are subscribed per resource (2025-11-25 server/resources,
// "Subscriptions").
func (e *legacy) listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction) {
	stream := c.openGetStream(ctx) // nil over stdio and HTTP+SSE: it is never gone
	if pause.IsOver(stream.Gone()) {
		return e.streamClosed(ctx, c, stream)
	}
	accepted, o, next := e.subscribe(ctx, c, sub)
	if !o.OK() {
		return o, next
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

// subscribe sends the requests that start a subscription, and returns the changes that the server
// will report. The outcome is OK even if the server refused some of the requests; for any other
// failure next says how Listen continues.
func (e *legacy) subscribe(
	ctx context.Context, c *connection, sub *subscription,
) (accepted SubscriptionFilter, o wire.Outcome, next retryAction) {
	isRefused := func(o wire.Outcome, next retryAction) bool { return next == noRetry && o.RPCError() != nil }
	accepted = sub.SubscriptionFilter // list changes are reported without a request
	accepted.URIs = nil
	for _, uri := range sub.URIs {
		o, next = e.sendSetup(ctx, c, sub, "resources/subscribe", "uri", uri)
		if o.OK() {
			accepted.URIs = append(accepted.URIs, uri)
		} else if !isRefused(o, next) {
			return accepted, o, next
		}
	}
	if sub.LogLevel != "" { // the level is no part of the filter
		o, next = e.sendSetup(ctx, c, sub, "logging/setLevel", "level", sub.LogLevel)
		if !o.OK() && !isRefused(o, next) {
			return accepted, o, next
		}
	}
	return accepted, wire.Outcome{}, noRetry
}

// sendSetup sends a request that helps to start a subscription, with one member in its params. It
// reports a refusal as a finding. The retryAction says how Listen continues after a failure.
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
	if o.RPCError() != nil && next == noRetry {
		c.addFinding(wire.Warning, "refused", "the server refused "+method+" for "+value+": "+o.Text)
	}
	return o, next
}

// streamClosed returns the outcome for a closed GET stream. A refused stream may mean that the
// session has expired, so streamClosed asks the server.
func (e *legacy) streamClosed(
	ctx context.Context,
	c *connection,
	stream *transport.GetStream,
) (wire.Outcome, retryAction) {
	f := stream.Refusal
	if f == nil { // the session was reopened
		return wire.Outcome{Kind: wire.Transport, Text: "the session has ended"}, reconnect
	}
	o := c.outcome(e, &Call{}, failedReply(f))
	if f.Kind == wire.Transport && f.Status/100 != 3 { // the hint is about the URL, which is known to be right
		o.Hint = ""
	}
	if f.Status == http.StatusConflict {
		o.Hint = "use a session with its own stream: " + wire.Run("listen -s URL")
	}
	if !e.mayHaveLostSession(c, stream) {
		return o, noRetry
	}
	const unconfirmed = true // only a response proves that the session is valid
	if !e.isSessionValid(ctx, c, nil, unconfirmed) && ctx.Err() == nil {
		o.Text = "the server no longer knows this session"
		return o, reconnect
	}
	return o, noRetry
}

// mayHaveLostSession reports whether the server may have refused the stream because of the session.
// Servers without such a stream refuse it as well, but not if it was open before.
func (e *legacy) mayHaveLostSession(c *connection, stream *transport.GetStream) bool {
	status := stream.Refusal.Status
	if e.sessionID() == "" || !wire.IsRefusal(status) || status == http.StatusConflict {
		return false
	}
	if status == http.StatusNotFound {
		return true
	}
	mayBeForeign := status != http.StatusMethodNotAllowed && c.load().unconfirmed // 405: it has no such stream
	return stream.WasOpen() || mayBeForeign
}

// unsubscribe removes the resource subscriptions. It stops at the first failure.
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
