package client

import (
	"context"
	"encoding/json"

	"mcpc/internal/client/transport"
	"mcpc/internal/mcp"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// maxResends limits how often one request is sent again.
const maxResends = 2

// doRound sends one request and returns the outcome of its last attempt. It resends the
// request and reopens the session as Do describes, and answers no input requests. renewed
// reports that the session was reopened.
func (s *Session) doRound(ctx context.Context, call *Call) (o wire.Outcome, renewed bool) {
	c := s.connection()
	if settled := c.load().rootsSettled; settled != nil { // the server requested roots
		c.waitForRoots(ctx, settled)
	}
	began := s.opt.Now()
	defer func() { o.Took = s.opt.Now().Sub(began) }()
	isClosed := pause.IsOver(c.transport().Gone())
	mayReopen := !call.Bare && s.opt.Server.Keepalive == nil // a kept server has lost its state
	if isClosed && mayReopen {
		c, o = s.reconnect(ctx, c, c.revision())
		if !o.OK() {
			return o.WithPart(wire.BeforeOperation), false
		}
		renewed = true
	}
	mayHaveArrived := false
	var previousID json.RawMessage
	for attempt := 1; ; attempt++ {
		now := c.load()
		r := c.requestWithPrevious(ctx, now.era, call, s.opt.Limits.Idle, previousID)
		previousID = r.id
		mayHaveArrived = mayHaveArrived || r.Fault == nil || r.Fault.Reached != wire.Unsent
		next := noRetry
		if attempt <= maxResends {
			next = c.nextAction(ctx, call, r, attempt, now.unconfirmed)
		}
		if next == resend {
			continue
		}
		if next == noRetry || renewed { // the session is reopened once only
			if next == reconnect {
				c.markLost()
			}
			c.noteLastReply(r)
			return withPart(call, c.outcome(now.era, call, r), mayHaveArrived), renewed
		}
		lost := c
		c, o = s.reconnect(ctx, lost, nextRevision(lost, r))
		if !o.OK() {
			return withPart(call, o, mayHaveArrived), false
		}
		renewed = true
		// A server that has never accepted the session has not executed the request either.
		mayTakeEffectTwice := !now.unconfirmed && !isRepeatable(call.Method)
		if call.Once || call.sessionOnly || mayTakeEffectTwice {
			return notResent(lost.outcome(now.era, call, r), s.opt.Resume != nil), true
		}
	}
}

// nextAction returns how a call continues after the reply r to an attempt: as retryAction says, or
// with another attempt after the pause that an overloaded server asks for.
func (c *connection) nextAction(
	ctx context.Context, call *Call, r reply, attempt int, unconfirmed bool,
) retryAction {
	if call.Bare || ctx.Err() != nil {
		return noRetry
	}
	next := c.retryAction(ctx, call, r, unconfirmed)
	mayRepeat := !call.Once && isRepeatable(call.Method)
	if next == noRetry && mayRepeat && waitRetryAfter(ctx, c, r, attempt) {
		return resend
	}
	return next
}

// noteLastReply stores what the last reply to a call says about the connection. On a confirmed
// connection it changes the advice of r.Fault, because the URL is known to be right.
func (c *connection) noteLastReply(r reply) {
	if c.load().unconfirmed {
		c.markAnswered(r)
	} else {
		r.Fault.NoteReachable()
	}
}

// withPart returns o marked with the part of the call that it belongs to: a connection before the
// request, the request itself (unmarked), or a later attempt. mayHaveArrived reports whether an
// earlier attempt may have reached the server. An outcome that is OK is returned unchanged.
func withPart(call *Call, o wire.Outcome, mayHaveArrived bool) wire.Outcome {
	isRequestItself := o.Method == call.Method && (!mayHaveArrived || o.Reached != wire.Unsent)
	if o.OK() || isRequestItself {
		return o
	}
	if !mayHaveArrived {
		return o.WithPart(wire.BeforeOperation)
	}
	if isRepeatable(call.Method) { // the operation can be retried, whatever o says
		o.Part = wire.AfterOperation
		return o
	}
	return o.WithPart(wire.AfterOperation)
}

// A retryAction is how a request continues after a reply.
type retryAction int

const (
	// noRetry: the reply is the outcome.
	noRetry retryAction = iota
	// resend: send the request again.
	resend
	// reconnect: reopen the session.
	reconnect
)

// retryAction returns how a call continues after the reply r. It asks the server whether a suspect
// session is still valid. unconfirmed reports whether the session was resumed and none of its
// requests has succeeded yet.
func (c *connection) retryAction(ctx context.Context, call *Call, r reply, unconfirmed bool) retryAction {
	if !call.Once && r.Message != nil && c.switchVersion(r.Message.Error) {
		return resend
	}
	mayRepeat := !call.Once && isRepeatable(call.Method)
	if r.Fault != nil {
		hasServerExited := pause.IsOver(c.transport().Gone())
		if hasServerExited && mayRepeat && c.s.opt.Server.Keepalive == nil {
			return reconnect
		}
		if hasServerExited {
			return noRetry // a kept server has lost its state
		}
		isConnectionLost := r.Fault.Kind == wire.Transport && r.Fault.Reached == wire.Unknown && r.Fault.Status == 0
		if isConnectionLost && mayRepeat { // the server may have closed an idle connection
			c.addFinding(wire.Info, "sent_again", r.Fault.Text+"; "+call.Method+" is read-only and was sent again")
			return resend
		}
	}
	state := c.era().sessionStateAfter(r, unconfirmed)
	mayBeRefusal := unconfirmed && r.HTTP != nil && hasVagueCode(r.Message)
	if state == sessionValid && mayBeRefusal && mayRepeat {
		state = sessionSuspect
	}
	switch state {
	case sessionExpired:
		return reconnect
	case sessionSuspect:
		if !c.era().isSessionValid(ctx, c, &r, unconfirmed) && ctx.Err() == nil {
			return reconnect
		}
		c.update(func(f *connectionState) { f.unconfirmed = false })
	}
	return noRetry
}

// hasVagueCode reports whether m is an error whose code has no defined meaning, as servers send
// before a handshake. The request itself may also have caused it, so only repeatable requests are
// sent again because of it.
func hasVagueCode(m *wire.Message) bool {
	if m == nil || m.Error == nil {
		return false
	}
	code := m.Error.Code
	isDefined := code == codeNoResource || code == codeDraftVersion
	return code == 0 || wire.RangeOfCode(code) == wire.ServerCodes && !isDefined
}

// isRepeatable reports whether requests of the method have no effect, or the same effect if they
// are sent twice.
func isRepeatable(method string) bool {
	switch method {
	case "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "logging/setLevel":
		return true
	}
	return mcp.OnlyReads(method)
}

// nextRevision returns the revision to reopen the session with; "" negotiates, because r shows that
// the server has changed.
func nextRevision(old *connection, r reply) string {
	if Stateless(old.revision()) || isModernError(r.Message) {
		return ""
	}
	return old.revision()
}

// reconnect replaces the lost connection old with a new one, and returns it. Several callers that
// found old to be lost share one new connection. known is the revision to use, or "" to negotiate. The
// connection is nil if the outcome is not OK.
func (s *Session) reconnect(ctx context.Context, old *connection, known string) (*connection, wire.Outcome) {
	select {
	case s.reconnecting <- struct{}{}:
		defer func() { <-s.reconnecting }()
	case <-ctx.Done():
		return nil, old.notSent(context.Cause(ctx))
	}
	if s.isClosed() {
		return nil, old.notSent(transport.ErrClosed)
	}
	if c := s.connection(); c != old {
		return c, wire.Outcome{}
	}
	ended := pause.IsOver(old.transport().Gone()) // read before close, which ends the transport
	old.markLost()
	const endSession = true
	old.close(ctx, !endSession)
	c, o := s.openConnection(ctx, known, nil, old.takeProbeReply())
	if !o.OK() {
		return nil, o
	}
	if !s.setConnection(c) {
		c.close(ctx, endSession)
		return nil, old.notSent(transport.ErrClosed)
	}
	if s.opt.Reconnected != nil {
		s.opt.Reconnected(newRenewal(old, c, ended))
	}
	return c, wire.Outcome{}
}

// notSent returns the outcome of a request that was not sent because of cause.
func (c *connection) notSent(cause error) wire.Outcome {
	f := &transport.Fault{Phase: "connect"}
	f.EndBy(cause)
	return c.outcome(nil, &Call{}, failedReply(f))
}

// A Renewal says why a session was reopened.
type Renewal struct {
	Why string
	// Process says how the server's process ended; nil if no process exited.
	Process *wire.ProcessFacts
}

// newRenewal returns why old was replaced with fresh. ended reports whether the transport of old
// had ended.
func newRenewal(old, fresh *connection, ended bool) Renewal {
	t := old.transport()
	if ended && t.Name() == transport.Stdio {
		r := Renewal{Why: "the server had exited: it was restarted"}
		if process, ok := t.(interface{ Ending() *wire.ProcessFacts }); ok {
			r.Process = process.Ending()
			r.Why = "the server had exited" + r.Process.EndInParentheses() + ": it was restarted"
		}
		return r
	}
	if ended {
		return Renewal{Why: "the server had closed the session: a new one was opened"}
	}
	if old.revision() != fresh.revision() {
		return Renewal{Why: "the server no longer speaks " + old.revision() +
			": the revision was negotiated again and is " + fresh.revision()}
	}
	return Renewal{Why: "the server no longer knows this session: a new one was opened"}
}

// markLost marks the session as lost: it cannot be ended at the server.
func (c *connection) markLost() { c.update(func(f *connectionState) { f.isLost = true }) }

// markAnswered ends the unconfirmed state if r has a message.
func (c *connection) markAnswered(r reply) {
	if r.Message != nil {
		c.update(func(f *connectionState) { f.unconfirmed = false })
	}
}

// notResent returns the outcome of a request that the server refused because of the lost session,
// and that is not sent again because it may have an effect. The user decides whether it makes sense
// in a new session.
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

// IsSessionLost reports whether the server rejected a request because it no longer knows the session,
// and the request was not sent again in the new session. The server did not execute it.
func IsSessionLost(o wire.Outcome) bool {
	return o.Kind == wire.Transport && o.Reached == wire.Answered && o.Retryable
}
