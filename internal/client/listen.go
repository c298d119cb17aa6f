package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpc/internal/client/transport"
	"mcpc/internal/pause"
	"mcpc/internal/wire"
)

// A SubscriptionFilter names what a server may be asked to tell of (2026-07-28
// basic/patterns/subscriptions, "SubscriptionFilter").
type SubscriptionFilter struct {
	// Tools, Prompts and Resources are changes of those lists.
	Tools     bool `json:"toolsListChanged,omitempty"`
	Prompts   bool `json:"promptsListChanged,omitempty"`
	Resources bool `json:"resourcesListChanged,omitempty"`
	// URIs are resources whose updates are told.
	URIs []string `json:"resourceSubscriptions,omitempty"`
}

// A ListenRequest is what Listen asks a server to report. Its notifications go to
// Options.Notified, as all do.
type ListenRequest struct {
	SubscriptionFilter
	// LogLevel sets from which level on a server logs, where a conversation has such
	// a level; "" leaves it to the server.
	LogLevel string
	// Patience is how long the server may take to agree; 0 is as long as any answer.
	Patience time.Duration
	// Began is told each time that the server has agreed to tell, and of what; after
	// the first time something may have been missed, so that lists must be read
	// again. Lost is told why it no longer did, before it is asked again. They must
	// not block and may be nil.
	Began func(agreed SubscriptionFilter)
	Lost  func(why string)
}

// A subscription is a Listening under way.
type subscription struct {
	ListenRequest
	guarded[subscriptionState]
}

// subscriptionState is how far a Listening has come.
type subscriptionState struct {
	// begun is set while the server reports changes, ever once it did, and over when
	// Listen has ended; what still comes then is no error.
	active, wasActive, ended bool
	// agreed is what the server agreed to last.
	agreed SubscriptionFilter
	// id is that of the request that asked for it, where there is one; leave ends that
	// because the server says that it is over.
	id     json.RawMessage
	cancel context.CancelCauseFunc
}

// errServerEnds is the cause of a context that the server's own word ended.
var errServerClosed = errors.New("the server closed it")

// Listen asks the server to tell of changes and waits until ctx is done, the
// server ends it in good order (a good outcome) or it cannot go on. Where the
// connection, the process or the session is lost, the server is asked again, for
// as long as it takes.
func (s *Session) Listen(ctx context.Context, l ListenRequest) wire.Outcome {
	sub := &subscription{ListenRequest: l}
	s.subscriptions.add(sub)
	defer sub.update(func(t *subscriptionState) {
		t.active = false
		t.ended = true
	})
	for attempt := 1; ; attempt++ {
		since := s.opt.Now()
		o, next := s.listenOnce(ctx, sub)
		if s.opt.Now().Sub(since) >= transport.MaxBackoff {
			attempt = 1
		}
		if next == noRetry || ctx.Err() != nil || !sub.load().wasActive && (next != reconnect || attempt > 1) {
			return o
		}
		sub.markInactive(o.Text)
		if sub.load().wasActive && !transport.Sleep(ctx, transport.Backoff(attempt)) {
			return s.connection().notSent(context.Cause(ctx))
		}
	}
}

// listenOnce listens until that ends, in a new conversation where the session or the
// line of the current one is lost.
func (s *Session) listenOnce(ctx context.Context, sub *subscription) (wire.Outcome, retryAction) {
	c := s.connection()
	if c.load().isLost || pause.IsOver(c.transport().Gone()) {
		fresh, o := s.reconnect(ctx, c, nextRevision(c, reply{}))
		switch {
		case o.Good():
			c = fresh
		case o.Kind == wire.Transport || o.Kind == wire.Timeout:
			return o, resend
		default:
			return o, noRetry
		}
	}
	o, next := c.era().listen(ctx, c, sub)
	if next == reconnect {
		c.markLost()
	}
	return o, next
}

// subscriptions are those of a session.
type subscriptions struct {
	mu  sync.Mutex
	all []*subscription
}

func (ss *subscriptions) add(sub *subscription) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.all = append(ss.all, sub)
}

// Lost tells every subscription that the stream is lost, and why. It reports whether any
// subscription is still open.
func (ss *subscriptions) Lost(why string) bool {
	for _, sub := range ss.list() {
		if !sub.load().ended {
			sub.markInactive(why)
		}
	}
	return ss.Active()
}

// Restored tells every subscription that the stream is open again.
func (ss *subscriptions) Restored() {
	for _, sub := range ss.list() {
		if now := sub.load(); !now.ended && now.wasActive { // else its Listen is still opening it
			sub.markActive(now.agreed)
		}
	}
}

// Active reports whether any subscription is still open.
func (ss *subscriptions) Active() bool {
	return slices.ContainsFunc(ss.list(), func(sub *subscription) bool { return !sub.load().ended })
}

// list gives all subscriptions, the ended ones too.
func (ss *subscriptions) list() []*subscription {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Clone(ss.all)
}

// patience is the limit of time for what a listening begins with.
func (sub *subscription) acknowledgementLimit(idle time.Duration) time.Duration {
	if sub.Patience > 0 && (idle <= 0 || sub.Patience < idle) {
		return sub.Patience
	}
	return idle
}

func (sub *subscription) markActive(agreed SubscriptionFilter) {
	before := sub.update(func(t *subscriptionState) {
		t.active = true
		t.wasActive = true
		t.agreed = agreed
	})
	if !before.active && sub.Began != nil {
		sub.Began(agreed)
	}
}

// lose tells, once, that the server tells no longer.
func (sub *subscription) markInactive(why string) {
	before := sub.update(func(t *subscriptionState) { t.active = false })
	if before.active && sub.Lost != nil {
		sub.Lost(why)
	}
}

// without names what f has and other lacks.
func (f SubscriptionFilter) missingFrom(other SubscriptionFilter) (names []string) {
	for _, kind := range []struct {
		name     string
		has, not bool
	}{{"the list of tools", f.Tools, other.Tools}, {"the list of prompts", f.Prompts, other.Prompts},
		{"the list of resources", f.Resources, other.Resources}} {
		if kind.has && !kind.not {
			names = append(names, kind.name)
		}
	}
	for _, uri := range f.URIs {
		if !slices.Contains(other.URIs, uri) {
			names = append(names, uri)
		}
	}
	return names
}

// agreed tells what the server does not tell of although it was asked to.
func (sub *subscription) reportMissing(c *connection, given SubscriptionFilter) {
	if missing := sub.missingFrom(given); len(missing) > 0 {
		c.addFinding(wire.Warning, "not_honoured", "the server does not report changes of "+strings.Join(missing, ", "))
	}
}
