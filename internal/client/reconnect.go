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
func (s *Session) do(ctx context.Context, call *Call) (o wire.Outcome, renewed bool) {
	c := s.connection()
	now := c.now()
	if now.takingRoots != nil {
		c.settleRoots(ctx, now.takingRoots)
	}
	began := s.opt.Now()
	defer func() { o.Took = s.opt.Now().Sub(began) }()
	if pause.IsOver(now.line.Gone()) && !call.Bare && s.opt.Server.Keepalive == nil {
		c, o = s.reconnect(ctx, c, c.revision())
		if !o.Good() {
			return o.As(wire.Before), false
		}
		renewed = true
	}
	left := false
	var again json.RawMessage
	for sent := 1; ; sent++ {
		now = c.now()
		e := now.era
		untried := now.untried
		r := c.requestAgain(ctx, e, call, s.opt.Limits.Idle, again)
		again = r.id
		left = left || r.Fault == nil || r.Fault.Reached != wire.Unsent
		next := noRetry
		if !call.Bare && ctx.Err() == nil && sent <= maxAgain {
			next = c.retryAction(ctx, call, r, untried)
			if next == noRetry && !call.Once && repeatable(call.Method) && waitRetryAfter(ctx, c, r, sent) {
				next = resend
			}
		}
		if next == noRetry || renewed && next == reconnect {
			if next == reconnect {
				c.forget()
			}
			if c.now().untried {
				c.tried(r)
			} else {
				r.Fault.NoteReachable()
			}
			return partOf(call, c.outcome(e, call, r), left), renewed
		}
		if next == reconnect {
			was := c
			c, o = s.reconnect(ctx, was, revisionAfter(was, r))
			if !o.Good() {
				return partOf(call, o, left), false
			}
			renewed = true
			if call.Once || call.inSession || !untried && !repeatable(call.Method) {
				return notAgain(was.outcome(e, call, r), s.opt.Resume != nil), true
			}
		}
	}
}

// partOf says of an ending what it is to the call: with left some attempt at that may have
// reached the server, also where the last exchange did not or was another.
func partOf(call *Call, o wire.Outcome, left bool) wire.Outcome {
	switch {
	case o.Good() || o.Method == call.Method && (!left || o.Reached != wire.Unsent):
	case !left:
		o = o.As(wire.Before)
	case repeatable(call.Method):
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

func (c *connection) retryAction(ctx context.Context, call *Call, r reply, untried bool) retryAction {
	readsOnly := !call.Once && repeatable(call.Method)
	broke := r.Fault != nil && r.Fault.Kind == wire.Transport && r.Fault.Reached == wire.Unknown && r.Fault.Status == 0
	if !call.Once && r.Message != nil && c.takeVersion(r.Message.Error) {
		return resend
	}
	if r.Fault != nil && pause.IsOver(c.line().Gone()) {
		if readsOnly && c.s.opt.Server.Keepalive == nil {
			return reconnect
		}
		return noRetry // the state of a held server is lost with it
	}
	if broke && readsOnly {
		c.found(wire.Info, "sent_again", r.Fault.Text+"; "+call.Method+" is read-only and was sent again")
		return resend
	}
	standing := c.era().judge(r, untried)
	if standing == valid && untried && readsOnly && r.HTTP != nil && meansNothing(r.Message) {
		standing = suspect
	}
	switch standing {
	case expired:
		return reconnect
	case suspect:
		if !c.era().alive(ctx, c, &r, untried) && ctx.Err() == nil {
			return reconnect
		}
		c.update(func(f *connectionState) { f.untried = false })
	}
	return noRetry
}

// meansNothing reports an error whose code says nothing of why, as servers give before
// a handshake. It may also come from what the request did, so that only what reads is
// sent again because of it.
func meansNothing(m *wire.Message) bool {
	if m == nil || m.Error == nil {
		return false
	}
	code := m.Error.Code
	return code == 0 || -32019 <= code && code <= -32000 && code != codeNoResource && code != codeDraftVersion
}

// repeatable reports whether requests of the method only read, or come to the same if they are sent twice.
func repeatable(method string) bool {
	switch method {
	case "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "logging/setLevel":
		return true
	}
	return mcp.OnlyReads(method)
}

// revisionAfter is the revision to open the next conversation with; "" is to
// find out, because r says that the server has changed.
func revisionAfter(was *connection, r reply) string {
	if Stateless(was.revision()) || modernEvidence(r.Message) {
		return ""
	}
	return was.revision()
}

// reconnect opens the conversation anew, once for all callers that found that was is over.
func (s *Session) reconnect(ctx context.Context, was *connection, known string) (*connection, wire.Outcome) {
	select {
	case s.reopening <- struct{}{}:
		defer func() { <-s.reopening }()
	case <-ctx.Done():
		return nil, was.gaveUp(context.Cause(ctx))
	}
	switch c := s.connection(); {
	case s.isClosed():
		return nil, was.gaveUp(transport.ErrClosed)
	case c != was:
		return c, wire.Outcome{}
	}
	ended := pause.IsOver(was.line().Gone())
	was.forget()
	was.close(ctx, false)
	c, o := s.connect(ctx, known, nil, was.takeProbed())
	if !o.Good() {
		return nil, o
	}
	if !s.install(c) {
		c.close(ctx, true)
		return nil, was.gaveUp(transport.ErrClosed)
	}
	if s.opt.Reconnected != nil {
		s.opt.Reconnected(renewal(was, c, ended))
	}
	return c, wire.Outcome{}
}

// gaveUp is the ending of a request that was not sent at all.
func (c *connection) gaveUp(cause error) wire.Outcome {
	f := &transport.Fault{Phase: "connect"}
	f.EndBy(cause)
	return c.outcome(nil, &Call{}, failure(f))
}

// A Renewal says why a session has another connection.
type Renewal struct {
	Why string
	// Process is how the server's process ended, nil for a server that did not exit.
	Process *wire.ProcessFacts
}

// renewal returns why the connection was replaced.
func renewal(was, now *connection, ended bool) Renewal {
	line := was.line()
	if ended && line.Name() == transport.Stdio {
		r := Renewal{Why: "the server had exited: it was restarted"}
		if process, ok := line.(interface{ Ending() *wire.ProcessFacts }); ok {
			r.Process = process.Ending()
			r.Why = "the server had exited" + r.Process.InBrackets() + ": it was restarted"
		}
		return r
	}
	if ended {
		return Renewal{Why: "the server had closed the session: a new one was opened"}
	}
	if was.revision() != now.revision() {
		return Renewal{
			Why: "the server no longer speaks " + was.revision() + ": the revision was negotiated again and is " + now.revision(),
		}
	}
	return Renewal{Why: "the server no longer knows this session: a new one was opened"}
}

// forget notes that the server no longer knows the conversation: there is
// nothing left to end there.
func (c *connection) forget() { c.update(func(f *connectionState) { f.lost = true }) }

// tried notes that the server has answered.
func (c *connection) tried(r reply) {
	if r.Message != nil {
		c.update(func(f *connectionState) { f.untried = false })
	}
}

// notAgain is the ending of a request that was refused unread, and that may do
// something: whether it still makes sense in a new session is the user's to say.
func notAgain(o wire.Outcome, resumed bool) wire.Outcome {
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
