package client

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpc/internal/client/transport"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

const methodAcknowledged = "notifications/subscriptions/acknowledged"

// listen sends subscriptions/listen, whose answer is the end of it: what it asks
// for comes before (2026-07-28 basic/patterns/subscriptions). There is a limit of
// time for the acknowledgement and none for the rest.
func (e *modern) listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	filter, _ := json.Marshal(sub.SubscriptionFilter)
	call := &Call{Method: "subscriptions/listen", ID: c.s.nextID(),
		Params: jsonraw.With(nil, "notifications", filter), isAcknowledged: func() bool { return sub.load().active }}
	previousID := sub.load().id
	sub.update(func(t *subscriptionState) {
		t.id = call.ID
		t.cancel = cancel
		t.active = false
	})
	r := c.requestWithPrevious(ctx, e, call, sub.acknowledgementLimit(c.s.opt.Limits.Idle), previousID)
	o := c.outcome(e, call, r)
	switch {
	case context.Cause(ctx) == errServerClosed:
		return wire.Outcome{Method: call.Method, Where: o.Where, Reached: wire.Answered}, noRetry
	case ctx.Err() != nil:
		return o, noRetry
	case o.Good():
		e.checkListenEnd(c, sub, r.Message)
		return o, noRetry
	case r.Fault != nil && !transport.IsPermanent(r.Fault) && (r.Fault.Kind == wire.Transport || sub.load().wasActive && r.Fault.Kind == wire.Timeout):
		if pause.IsOver(c.transport().Gone()) {
			return o, reconnect
		}
		if sub.load().active {
			o.Text = "the stream of the subscription " + transport.HowEnded(r.Fault)
		}
		return o, resend
	}
	next := c.retryAction(ctx, call, r, c.load().unconfirmed)
	c.markAnswered(r)
	return o, next
}

// ended looks at the answer that ends the listening in good order.
func (e *modern) checkListenEnd(c *connection, sub *subscription, m *wire.Message) {
	if !sub.load().active {
		c.warnOnce("no_acknowledgement", "the server closed subscriptions/listen without an acknowledgement")
	}
	if id := mcp.SubscriptionID(m.Result); !bytes.Equal(id, m.ID) {
		c.warnOnce(
			"subscription",
			"the result of subscriptions/listen names the subscription "+transport.IDText(
				id,
			)+" instead of "+transport.IDText(
				m.ID,
			),
		)
	}
}

// takeNotification assigns a notification to the Listening that asked for it, by the subscription
// id, which "the client MUST use" over a line that several share (2026-07-28
// basic/transports/stdio).
func (e *modern) handleNotification(c *connection, m *wire.Message) bool {
	if m.Method == "notifications/cancelled" {
		sub := c.s.subscriptions.byID(mcp.CancelledID(m))
		if sub != nil {
			sub.load().cancel(errServerClosed)
		}
		return sub == nil
	}
	id := mcp.NotificationSubscription(m)
	sub := c.s.subscriptions.byID(id)
	switch {
	case sub != nil && sub.load().ended:
		return false
	case m.Method == methodAcknowledged:
		e.acknowledged(c, sub, id, jsonraw.First(m.Params, "notifications"))
		return false
	case id == nil && changeNotifications[m.Method] != nil:
		c.warnOnce("subscription", "the server sent "+m.Method+" without its subscription id")
	case id == nil:
	case sub == nil:
		c.warnOnce(
			"foreign_subscription",
			"the server sent "+m.Method+" for the subscription "+transport.IDText(
				id,
			)+", which was not requested; it was dropped",
		)
		return false
	case !sub.load().active:
		c.warnOnce("no_acknowledgement", "the server sent "+m.Method+" before it acknowledged the subscription")
		sub.markActive(sub.SubscriptionFilter) // it tells, whether it ever says so or not
	case !sub.requested(m.Method):
		c.warnOnce("unrequested", "the server sent "+m.Method+", which was not requested")
	}
	return true
}

// acknowledged begins a listening with what the server agreed to.
func (e *modern) acknowledged(c *connection, sub *subscription, id, notifications json.RawMessage) {
	if sub == nil {
		c.warnOnce(
			"foreign_subscription",
			"the server acknowledged the subscription "+transport.IDText(id)+", which was not requested",
		)
		return
	}
	var agreed SubscriptionFilter
	if json.Unmarshal(notifications, &agreed) != nil {
		c.warnOnce("subscription", "the acknowledgement does not list its notifications: "+transport.IDText(notifications))
	}
	sub.reportMissing(c, agreed)
	sub.markActive(agreed)
}

// find gives the subscription of a subscription, or nil; value and type of the id count.
func (ss *subscriptions) byID(id json.RawMessage) *subscription {
	for _, sub := range ss.list() {
		if len(id) > 0 && bytes.Equal(sub.load().id, id) {
			return sub
		}
	}
	return nil
}

// changes are the notifications that come for subscriptions only, with what asks for them.
var changeNotifications = map[string]func(SubscriptionFilter) bool{
	"notifications/tools/list_changed":     func(f SubscriptionFilter) bool { return f.Tools },
	"notifications/prompts/list_changed":   func(f SubscriptionFilter) bool { return f.Prompts },
	"notifications/resources/list_changed": func(f SubscriptionFilter) bool { return f.Resources },
	"notifications/resources/updated":      func(f SubscriptionFilter) bool { return len(f.URIs) > 0 },
}

// asked reports whether the kind of a notification was asked for. What belongs to
// a request never is.
func (sub *subscription) requested(method string) bool {
	if isAsked := changeNotifications[method]; isAsked != nil {
		return isAsked(sub.SubscriptionFilter)
	}
	return method != "notifications/message" && method != "notifications/progress"
}
