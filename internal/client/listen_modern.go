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
func (e *modern) listen(ctx context.Context, t *talk, h *hearing) (wire.Outcome, remedy) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	filter, _ := json.Marshal(h.Filter)
	call := &Call{Method: "subscriptions/listen", ID: t.s.nextID(),
		Params: jsonraw.With(nil, "notifications", filter), begun: func() bool { return h.now().begun }}
	h.update(func(t *told) { t.id, t.leave, t.begun = call.ID, leave, false })
	r := t.request(ctx, e, call, h.patience(t.s.opt.Limits.Idle))
	o := t.outcome(e, call, r)
	switch {
	case context.Cause(ctx) == errServerEnds:
		return wire.Outcome{Method: call.Method, Where: o.Where, Reached: wire.Answered}, stop
	case ctx.Err() != nil:
		return o, stop
	case o.Good():
		e.ended(t, h, r.message)
		return o, stop
	case r.fault != nil && !isFinal(r.fault) && (r.fault.kind == wire.Transport || h.now().ever && r.fault.kind == wire.Timeout):
		if isOver(t.line().gone()) {
			return o, reopen
		}
		if h.now().begun {
			o.Text = "the stream of the subscription " + broke(r.fault)
		}
		return o, resend
	}
	next := t.remedy(ctx, call, r, t.now().untried)
	t.tried(r)
	return o, next
}

// ended looks at the answer that ends the listening in good order.
func (e *modern) ended(t *talk, h *hearing, m *wire.Message) {
	if !h.now().begun {
		t.complain("no_acknowledgement", "the server closed subscriptions/listen without an acknowledgement")
	}
	if id := subscriptionIn(m.Result); !bytes.Equal(id, m.ID) {
		t.complain("subscription", "the result of subscriptions/listen names the subscription "+orNone(id)+" instead of "+orNone(m.ID))
	}
}

// subscriptionIn is the subscription id in the _meta of params or of a result; nil without one.
func subscriptionIn(object json.RawMessage) json.RawMessage {
	return jsonraw.First(jsonraw.First(object, "_meta"), metaSubscription)
}

// heard assigns a notification to the subscription that subscribed to it by the subscription
// id, which "the client MUST use" over a line that several share (2026-07-28
// basic/transports/stdio).
func (e *modern) heard(t *talk, m *wire.Message) bool {
	if m.Method == "notifications/cancelled" {
		h := t.s.subscriptions.find(cancelledID(m))
		if h != nil {
			h.now().leave(errServerEnds)
		}
		return h == nil
	}
	id := subscriptionIn(m.Params)
	h := t.s.subscriptions.find(id)
	switch {
	case h != nil && h.now().over:
		return false
	case m.Method == methodAcknowledged:
		e.acknowledged(t, h, id, jsonraw.First(m.Params, "notifications"))
		return false
	case id == nil && changes[m.Method] != nil:
		t.complain("subscription", "the server sent "+m.Method+" without its subscription id")
	case id == nil:
	case h == nil:
		t.complain("foreign_subscription", "the server sent "+m.Method+" for the subscription "+orNone(id)+", which was not requested; it was dropped")
		return false
	case !h.now().begun:
		t.complain("no_acknowledgement", "the server sent "+m.Method+" before it acknowledged the subscription")
		h.begin(h.Filter) // it tells, whether it ever says so or not
	case !h.asked(m.Method):
		t.complain("unrequested", "the server sent "+m.Method+", which was not requested")
	}
	return true
}

// acknowledged begins a listening with what the server agreed to.
func (e *modern) acknowledged(t *talk, h *hearing, id, notifications json.RawMessage) {
	if h == nil {
		t.complain("foreign_subscription", "the server acknowledged the subscription "+orNone(id)+", which was not requested")
		return
	}
	var given Filter
	if json.Unmarshal(notifications, &given) != nil {
		t.complain("subscription", "the acknowledgement does not list its notifications: "+orNone(notifications))
	}
	h.agreed(t, given)
	h.begin(given)
}

// find gives the subscription of a subscription, or nil; value and type of the id count.
func (ss *subscriptions) find(id json.RawMessage) *hearing {
	for _, h := range ss.list() {
		if len(id) > 0 && bytes.Equal(h.now().id, id) {
			return h
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
func (h *hearing) asked(method string) bool {
	if isAsked := changes[method]; isAsked != nil {
		return isAsked(h.Filter)
	}
	return method != "notifications/message" && method != "notifications/progress"
}
