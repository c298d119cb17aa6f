package client

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

const metaSubscription = "io.modelcontextprotocol/subscriptionId"

const methodAcknowledged = "notifications/subscriptions/acknowledged"

// listen sends subscriptions/listen, whose answer is the end of it: what it asks
// for comes before (2026-07-28 basic/patterns/subscriptions). There is a limit of
// time for the acknowledgement and none for the rest.
func (e *modern) listen(ctx context.Context, c *talk, sub *hearing) (wire.Outcome, remedy) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	filter, _ := json.Marshal(sub.Filter)
	call := &Call{Method: "subscriptions/listen", ID: c.s.nextID(),
		Params: jsonraw.With(nil, "notifications", filter), begun: func() bool { return sub.now().begun }}
	sub.update(func(t *told) { t.id, t.leave, t.begun = call.ID, leave, false })
	r := c.request(ctx, e, call, sub.patience(c.s.opt.Limits.Idle))
	o := c.outcome(e, call, r)
	switch {
	case context.Cause(ctx) == errServerEnds:
		return wire.Outcome{Method: call.Method, Where: o.Where, Reached: wire.Answered}, stop
	case ctx.Err() != nil:
		return o, stop
	case o.Good():
		e.ended(c, sub, r.message)
		return o, stop
	case r.fault != nil && !isFinal(r.fault) && (r.fault.kind == wire.Transport || sub.now().ever && r.fault.kind == wire.Timeout):
		if isOver(c.line().gone()) {
			return o, reopen
		}
		if sub.now().begun {
			o.Text = "the stream of the subscription " + broke(r.fault)
		}
		return o, resend
	}
	next := c.remedy(ctx, call, r, c.now().untried)
	c.tried(r)
	return o, next
}

// ended looks at the answer that ends the listening in good order.
func (e *modern) ended(c *talk, sub *hearing, m *wire.Message) {
	if !sub.now().begun {
		c.complain("no_acknowledgement", "the server closed subscriptions/listen without an acknowledgement")
	}
	if id := subscriptionIn(m.Result); !bytes.Equal(id, m.ID) {
		c.complain("subscription", "the result of subscriptions/listen names the subscription "+orNone(id)+" instead of "+orNone(m.ID))
	}
}

// subscriptionIn is the subscription id in the _meta of params or of a result; nil without one.
func subscriptionIn(object json.RawMessage) json.RawMessage {
	return jsonraw.First(jsonraw.First(object, "_meta"), metaSubscription)
}

// heard assigns a notification to the Listening that asked for it, by the subscription
// id, which "the client MUST use" over a line that several share (2026-07-28
// basic/transports/stdio).
func (e *modern) heard(c *talk, m *wire.Message) bool {
	if m.Method == "notifications/cancelled" {
		sub := c.s.subscriptions.find(cancelledID(m))
		if sub != nil {
			sub.now().leave(errServerEnds)
		}
		return sub == nil
	}
	id := subscriptionIn(m.Params)
	sub := c.s.subscriptions.find(id)
	switch {
	case sub != nil && sub.now().over:
		return false
	case m.Method == methodAcknowledged:
		e.acknowledged(c, sub, id, jsonraw.First(m.Params, "notifications"))
		return false
	case id == nil && changes[m.Method] != nil:
		c.complain("subscription", "the server sent "+m.Method+" without its subscription id")
	case id == nil:
	case sub == nil:
		c.complain("foreign_subscription", "the server sent "+m.Method+" for the subscription "+orNone(id)+", which was not requested; it was dropped")
		return false
	case !sub.now().begun:
		c.complain("no_acknowledgement", "the server sent "+m.Method+" before it acknowledged the subscription")
		sub.begin(sub.Filter) // it tells, whether it ever says so or not
	case !sub.asked(m.Method):
		c.complain("unrequested", "the server sent "+m.Method+", which was not requested")
	}
	return true
}

// acknowledged begins a listening with what the server agreed to.
func (e *modern) acknowledged(c *talk, sub *hearing, id, notifications json.RawMessage) {
	if sub == nil {
		c.complain("foreign_subscription", "the server acknowledged the subscription "+orNone(id)+", which was not requested")
		return
	}
	var given Filter
	if json.Unmarshal(notifications, &given) != nil {
		c.complain("subscription", "the acknowledgement does not list its notifications: "+orNone(notifications))
	}
	sub.agreed(c, given)
	sub.begin(given)
}

// find gives the subscription of a subscription, or nil; value and type of the id count.
func (ss *subscriptions) find(id json.RawMessage) *hearing {
	for _, sub := range ss.list() {
		if len(id) > 0 && bytes.Equal(sub.now().id, id) {
			return sub
		}
	}
	return nil
}

// changes are the notifications that come for subscriptions only, with what asks for them.
var changes = map[string]func(Filter) bool{
	"notifications/tools/list_changed":     func(f Filter) bool { return f.Tools },
	"notifications/prompts/list_changed":   func(f Filter) bool { return f.Prompts },
	"notifications/resources/list_changed": func(f Filter) bool { return f.Resources },
	"notifications/resources/updated":      func(f Filter) bool { return len(f.URIs) > 0 },
}

// asked reports whether the kind of a notification was asked for. What belongs to
// a request never is.
func (sub *hearing) asked(method string) bool {
	if isAsked := changes[method]; isAsked != nil {
		return isAsked(sub.Filter)
	}
	return method != "notifications/message" && method != "notifications/progress"
}
