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

const (
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// listen sends subscriptions/listen. The notifications arrive before its response, which ends the
// subscription (2026-07-28 basic/patterns/subscriptions). Only the acknowledgement has a time
// limit.
func (e *modern) listen(ctx context.Context, c *connection, sub *subscription) (wire.Outcome, retryAction) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	filter, _ := json.Marshal(sub.SubscriptionFilter)
	call := &Call{
		Method: methodListen, ID: c.s.nextID(),
		Params: jsonraw.With(nil, "notifications", filter), isAcknowledged: func() bool { return sub.load().active },
	}
	previousID := sub.load().id
	sub.update(func(t *subscriptionState) {
		t.id = call.ID
		t.cancel = cancel
		t.active = false
	})
	r := c.requestWithPrevious(ctx, e, call, sub.acknowledgementLimit(c.s.opt.Limits.Idle), previousID)
	o := c.outcome(e, call, r)
	if context.Cause(ctx) == errServerClosed { // handleNotification received the cancellation
		return wire.Outcome{Method: call.Method, ServerName: o.ServerName, Reached: wire.Answered}, noRetry
	}
	if ctx.Err() != nil {
		return o, noRetry
	}
	if o.OK() {
		e.checkListenEnd(c, sub, r.Message)
		return o, noRetry
	}
	if canResubscribe(r.Fault, sub.load().wasActive) {
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

// canResubscribe reports whether a subscription that ended with f can be requested again.
// f may be nil. A timeout counts only after the server had acknowledged the subscription.
func canResubscribe(f *transport.Fault, wasActive bool) bool {
	if f == nil || transport.IsPermanent(f) {
		return false
	}
	return f.Kind == wire.Transport || wasActive && f.Kind == wire.Timeout
}

// checkListenEnd reports problems of the response that ends a subscription.
func (e *modern) checkListenEnd(c *connection, sub *subscription, m *wire.Message) {
	if !sub.load().active {
		c.warnOnce("no_acknowledgement", "the server closed subscriptions/listen without an acknowledgement")
	}
	if id := mcp.SubscriptionID(m.Result); !bytes.Equal(id, m.ID) {
		got := transport.IDText(id)
		want := transport.IDText(m.ID)
		c.warnOnce("subscription",
			"the result of subscriptions/listen names the subscription "+got+" instead of "+want)
	}
}

// handleNotification assigns a notification to its subscription by the subscription id, which "the
// client MUST use" on a shared transport (2026-07-28 basic/transports/stdio). It reports problems,
// and drops acknowledgements and notifications of unknown or ended subscriptions.
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
	if sub != nil && sub.load().ended {
		return false
	}
	if m.Method == methodAcknowledged {
		e.handleAcknowledgement(c, sub, id, jsonraw.First(m.Params, "notifications"))
		return false
	}
	if id == nil {
		if changeNotifications[m.Method] != nil {
			c.warnOnce("subscription", "the server sent "+m.Method+" without its subscription id")
		}
		return true
	}
	if sub == nil {
		shown := transport.IDText(id)
		c.warnOnce("foreign_subscription",
			"the server sent "+m.Method+" for the subscription "+shown+", which was not requested; it was dropped")
		return false
	}
	if !sub.load().active {
		c.warnOnce("no_acknowledgement", "the server sent "+m.Method+" before it acknowledged the subscription")
		sub.markActive(sub.SubscriptionFilter) // a notification shows that the subscription is active
	} else if !sub.isRequested(m.Method) {
		c.warnOnce("unrequested", "the server sent "+m.Method+", which was not requested")
	}
	return true
}

// handleAcknowledgement marks a subscription as active with the filter that the server accepted. sub is nil
// if the id is unknown.
func (e *modern) handleAcknowledgement(c *connection, sub *subscription, id, notifications json.RawMessage) {
	if sub == nil {
		c.warnOnce(
			"foreign_subscription",
			"the server acknowledged the subscription "+transport.IDText(id)+", which was not requested",
		)
		return
	}
	var agreed SubscriptionFilter
	if json.Unmarshal(notifications, &agreed) != nil { // agreed stays empty
		c.warnOnce("subscription", "the acknowledgement does not list its notifications: "+transport.IDText(notifications))
	}
	sub.reportMissing(c, agreed)
	sub.markActive(agreed)
}

// byID returns the subscription with an id, or nil. It compares the ids as JSON bytes, so 1 and "1"
// differ.
func (ss *subscriptions) byID(id json.RawMessage) *subscription {
	for _, sub := range ss.list() {
		if len(id) > 0 && bytes.Equal(sub.load().id, id) {
			return sub
		}
	}
	return nil
}

// changeNotifications are the notifications that need a subscription; each function reports whether
// a filter selects the notification.
var changeNotifications = map[string]func(SubscriptionFilter) bool{
	"notifications/tools/list_changed":     func(f SubscriptionFilter) bool { return f.Tools },
	"notifications/prompts/list_changed":   func(f SubscriptionFilter) bool { return f.Prompts },
	"notifications/resources/list_changed": func(f SubscriptionFilter) bool { return f.Resources },
	"notifications/resources/updated":      func(f SubscriptionFilter) bool { return len(f.URIs) > 0 },
}

// isRequested reports whether the filter selects a notification. For notifications that belong to
// requests, it reports false.
func (sub *subscription) isRequested(method string) bool {
	if isAsked := changeNotifications[method]; isAsked != nil {
		return isAsked(sub.SubscriptionFilter)
	}
	return method != "notifications/message" && method != "notifications/progress"
}
