package client

import (
	"context"
	"encoding/json"

	"mcpc/internal/client/transport"
	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// maxAgain is how often one request may be sent again.
const maxAgain = 2

// do is Do. renewed is set where the conversation was opened anew.
func (s *Session) doRound(ctx context.Context, call *Call) (o wire.Outcome, renewed bool) {
	c := s.connection()
	now := c.load()
	if now.rootsSettled != nil {
		c.waitForRoots(ctx, now.rootsSettled)
	}
	began := s.opt.Now()
	defer func() { o.Took = s.opt.Now().Sub(began) }()
	if pause.IsOver(now.transport.Gone()) && !call.Bare && s.opt.Server.Keepalive == nil {
		c, o = s.reconnect(ctx, c, c.revision())
		if !o.Good() {
			return o.As(wire.Before), false
		}
		renewed = true
	}
	mayHaveArrived := false
	var previousID json.RawMessage
	for attempt := 1; ; attempt++ {
		now = c.load()
		e := now.era
		unconfirmed := now.unconfirmed
		r := c.requestWithPrevious(ctx, e, call, s.opt.Limits.Idle, previousID)
		previousID = r.id
		mayHaveArrived = mayHaveArrived || r.Fault == nil || r.Fault.Reached != wire.Unsent
		next := noRetry
		if !call.Bare && ctx.Err() == nil && attempt <= maxAgain {
			next = c.retryAction(ctx, call, r, unconfirmed)
			if next == noRetry && !call.Once && isRepeatable(call.Method) && waitRetryAfter(ctx, c, r, attempt) {
				next = resend
			}
		}
		if next == noRetry || renewed && next == reconnect {
			if next == reconnect {
				c.markLost()
			}
			if c.load().unconfirmed {
				c.markAnswered(r)
			} else {
				r.Fault.NoteReachable()
			}
			return withPart(call, c.outcome(e, call, r), mayHaveArrived), renewed
		}
		if next == reconnect {
			lost := c
			c, o = s.reconnect(ctx, lost, nextRevision(lost, r))
			if !o.Good() {
				return withPart(call, o, mayHaveArrived), false
			}
			renewed = true
			if call.Once || call.sessionOnly || !unconfirmed && !isRepeatable(call.Method) {
				return notResent(lost.outcome(e, call, r), s.opt.Resume != nil), true
			}
		}
	}
}

// partOf says of an ending what it is to the call: with left some attempt at that may have
// reached the server, also where the last exchange did not or was another.
func withPart(call *Call, o wire.Outcome, mayHaveArrived bool) wire.Outcome {
	switch {
	case o.Good() || o.Method == call.Method && (!mayHaveArrived || o.Reached != wire.Unsent):
	case !mayHaveArrived:
		o = o.As(wire.Before)
	case isRepeatable(call.Method):
		o.Part = wire.After
	default:
		o = o.As(wire.After)
	}
	return o
}

// A retryAction is what can be done about a reply.
type retryAction int

// stop: nothing, it is the ending. resend: send the request again. reopen: open
// the conversation anew.
const (
	noRetry retryAction = iota
	resend
	reconnect
)

func (c *connection) retryAction(ctx context.Context, call *Call, r reply, unconfirmed bool) retryAction {
	readsOnly := !call.Once && isRepeatable(call.Method)
	broke := r.Fault != nil && r.Fault.Kind == wire.Transport && r.Fault.Reached == wire.Unknown && r.Fault.Status == 0
	if !call.Once && r.Message != nil && c.switchVersion(r.Message.Error) {
		return resend
	}
	if r.Fault != nil && pause.IsOver(c.transport().Gone()) {
		if readsOnly && c.s.opt.Server.Keepalive == nil {
			return reconnect
		}
		return noRetry // the state of a held server is lost with it
	}
	if broke && readsOnly {
		c.addFinding(wire.Info, "sent_again", r.Fault.Text+"; "+call.Method+" is read-only and was sent again")
		return resend
	}
	standing := c.era().sessionStateAfter(r, unconfirmed)
	if standing == valid && unconfirmed && readsOnly && r.HTTP != nil && hasVagueCode(r.Message) {
		standing = suspect
	}
	switch standing {
	case expired:
		return reconnect
	case suspect:
		if !c.era().stillValid(ctx, c, &r, unconfirmed) && ctx.Err() == nil {
			return reconnect
		}
		c.update(func(f *connectionState) { f.unconfirmed = false })
	}
	return noRetry
}

// meansNothing reports an error whose code says nothing of why, as servers give before
// a handshake. It may also come from what the request did, so that only what reads is
// sent again because of it.
func hasVagueCode(m *wire.Message) bool {
	if m == nil || m.Error == nil {
		return false
	}
	code := m.Error.Code
	return code == 0 || -32019 <= code && code <= -32000 && code != codeNoResource && code != codeDraftVersion
}

// repeatable reports whether requests of the method only read, or come to the same if they are sent twice.
func isRepeatable(method string) bool {
	switch method {
	case "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "logging/setLevel":
		return true
	}
	return mcp.OnlyReads(method)
}

// revisionAfter is the revision to open the next conversation with; "" is to
// find out, because r says that the server has changed.
func nextRevision(old *connection, r reply) string {
	if Stateless(old.revision()) || isModernError(r.Message) {
		return ""
	}
	return old.revision()
}

// reconnect opens the conversation anew, once for all callers that found that was is over.
func (s *Session) reconnect(ctx context.Context, old *connection, known string) (*connection, wire.Outcome) {
	select {
	case s.reconnecting <- struct{}{}:
		defer func() { <-s.reconnecting }()
	case <-ctx.Done():
		return nil, old.notSent(context.Cause(ctx))
	}
	switch c := s.connection(); {
	case s.isClosed():
		return nil, old.notSent(transport.ErrClosed)
	case c != old:
		return c, wire.Outcome{}
	}
	ended := pause.IsOver(old.transport().Gone())
	old.markLost()
	old.close(ctx, false)
	c, o := s.connect(ctx, known, nil, old.takeProbeReply())
	if !o.Good() {
		return nil, o
	}
	if !s.setConnection(c) {
		c.close(ctx, true)
		return nil, old.notSent(transport.ErrClosed)
	}
	if s.opt.Reconnected != nil {
		s.opt.Reconnected(newRenewal(old, c, ended))
	}
	return c, wire.Outcome{}
}

// gaveUp is the ending of a request that was not sent at all.
func (c *connection) notSent(cause error) wire.Outcome {
	f := &transport.Fault{Phase: "connect"}
	f.EndBy(cause)
	return c.outcome(nil, &Call{}, failedReply(f))
}

// A Renewal says why a session has another connection.
type Renewal struct {
	Why string
	// Process is how the server's process ended, nil for a server that did not exit.
	Process *wire.ProcessFacts
}

// renewal returns why the connection was replaced.
func newRenewal(old, fresh *connection, ended bool) Renewal {
	t := old.transport()
	if ended && t.Name() == transport.Stdio {
		r := Renewal{Why: "the server had exited: it was restarted"}
		if process, ok := t.(interface{ Ending() *wire.ProcessFacts }); ok {
			r.Process = process.Ending()
			r.Why = "the server had exited" + r.Process.InBrackets() + ": it was restarted"
		}
		return r
	}
	if ended {
		return Renewal{Why: "the server had closed the session: a new one was opened"}
	}
	if old.revision() != fresh.revision() {
		return Renewal{
			Why: "the server no longer speaks " + old.revision() + ": the revision was negotiated again and is " + fresh.revision(),
		}
	}
	return Renewal{Why: "the server no longer knows this session: a new one was opened"}
}

// forget notes that the server no longer knows the conversation: there is
// nothing left to end there.
func (c *connection) markLost() { c.update(func(f *connectionState) { f.isLost = true }) }

// tried notes that the server has answered.
func (c *connection) markAnswered(r reply) {
	if r.Message != nil {
		c.update(func(f *connectionState) { f.unconfirmed = false })
	}
}

// notAgain is the ending of a request that was refused unread, and that may do
// something: whether it still makes sense in a new session is the user's to say.
func notResent(o wire.Outcome, resumed bool) wire.Outcome {
	o.Kind = wire.Transport
	o.Phase = "wait"
	o.Reached = wire.Answered
	o.Retryable = true
	o.Text = "the server had dropped the session and rejected " + o.Method + ", which was not sent again"
	o.Hint = "it was not processed: run the command again"
	if resumed {
		o.Hint = "a new session is open: run the command again"
	}
	return o
}
