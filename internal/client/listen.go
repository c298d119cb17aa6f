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

// A SubscriptionFilter selects the changes that a server reports (2026-07-28
// basic/patterns/subscriptions, "SubscriptionFilter").
type SubscriptionFilter struct {
	// Tools, Prompts and Resources select changes of the three lists.
	Tools     bool `json:"toolsListChanged,omitempty"`
	Prompts   bool `json:"promptsListChanged,omitempty"`
	Resources bool `json:"resourcesListChanged,omitempty"`
	// URIs select updates of individual resources.
	URIs []string `json:"resourceSubscriptions,omitempty"`
}

// A ListenRequest configures Listen. The notifications go to Options.Notified like all others.
type ListenRequest struct {
	SubscriptionFilter
	// LogLevel is the minimum level of log messages, in the era that has this setting; "" leaves it
	// to the server.
	LogLevel string
	// Patience limits the wait for the acknowledgement; 0 waits as long as for any response.
	Patience time.Duration
	// Began is called each time the server has agreed to report changes. After a second call
	// changes may have been missed, and lists must be read again. Lost is called with the reason
	// when the subscription was lost, before Listen subscribes again. Both must not block and may
	// be nil.
	Began func(agreed SubscriptionFilter)
	Lost  func(why string)
}

// A subscription is a running Listen call.
type subscription struct {
	ListenRequest
	guarded[subscriptionState]
}

// A subscriptionState is the changing part of a subscription.
type subscriptionState struct {
	// active is set while the server reports changes, wasActive once it has done so. ended is set
	// when Listen has returned; later notifications are no error.
	active, wasActive, ended bool
	// agreed is the filter that the server accepted last.
	agreed SubscriptionFilter
	// id is the id of the subscriptions/listen request, nil in the legacy era. cancel ends that
	// request when the server cancels it.
	id     json.RawMessage
	cancel context.CancelCauseFunc
}

// errServerClosed is the cause of a context that a cancellation by the server ended.
var errServerClosed = errors.New("the server closed it")

// Listen subscribes to changes and waits until ctx is done, the server ends the subscription (the
// outcome is OK) or an error is permanent. If the connection, the process or the session is lost,
// Listen subscribes again, without a limit of attempts.
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
		if s.opt.Now().Sub(since) >= transport.MaxBackoff { // the subscription lasted: wait briefly again
			attempt = 1
		}
		if next == noRetry || ctx.Err() != nil {
			return o
		}
		// Before the first success only a lost session is worth another attempt, once and at once.
		wasActive := sub.load().wasActive
		mayTryFirst := next == reconnect && attempt == 1
		if !wasActive && !mayTryFirst {
			return o
		}
		sub.markInactive(o.Text)
		if wasActive && !transport.Sleep(ctx, transport.Backoff(attempt)) {
			return s.connection().notSent(context.Cause(ctx))
		}
	}
}

// listenOnce subscribes and waits until the subscription ends. It reconnects first if the session
// or the transport is lost.
func (s *Session) listenOnce(ctx context.Context, sub *subscription) (wire.Outcome, retryAction) {
	c := s.connection()
	if c.load().isLost || pause.IsOver(c.transport().Gone()) {
		noReply := reply{} // no reply reported that the revision has changed
		fresh, o := s.reconnect(ctx, c, nextRevision(c, noReply))
		if o.OK() {
			c = fresh
		} else if o.Kind == wire.Transport || o.Kind == wire.Timeout {
			return o, resend
		} else {
			return o, noRetry
		}
	}
	o, next := c.era().listen(ctx, c, sub)
	if next == reconnect {
		c.markLost()
	}
	return o, next
}

// subscriptions are the subscriptions of a session.
type subscriptions struct {
	mu  sync.Mutex
	all []*subscription
}

// add adds a subscription.
func (ss *subscriptions) add(sub *subscription) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.all = append(ss.all, sub)
}

// Lost notifies each open subscription that the stream is lost, and why. It reports whether any
// subscription is open.
func (ss *subscriptions) Lost(why string) bool {
	for _, sub := range ss.list() {
		if !sub.load().ended {
			sub.markInactive(why)
		}
	}
	return ss.Active()
}

// Restored notifies each open subscription that the stream is open again.
func (ss *subscriptions) Restored() {
	for _, sub := range ss.list() {
		if now := sub.load(); !now.ended && now.wasActive { // Listen starts the others itself
			sub.markActive(now.agreed)
		}
	}
}

// Active reports whether any subscription is open.
func (ss *subscriptions) Active() bool {
	return slices.ContainsFunc(ss.list(), func(sub *subscription) bool { return !sub.load().ended })
}

// list returns all subscriptions, including ended ones.
func (ss *subscriptions) list() []*subscription {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return slices.Clone(ss.all)
}

// acknowledgementLimit returns how long the requests that start the subscription may take: Patience
// if it is shorter than idle.
func (sub *subscription) acknowledgementLimit(idle time.Duration) time.Duration {
	if sub.Patience > 0 && (idle <= 0 || sub.Patience < idle) {
		return sub.Patience
	}
	return idle
}

// markActive stores the accepted filter and calls Began if the subscription was not active.
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

// markInactive calls Lost if the subscription was active.
func (sub *subscription) markInactive(why string) {
	before := sub.update(func(t *subscriptionState) { t.active = false })
	if before.active && sub.Lost != nil {
		sub.Lost(why)
	}
}

// missingFrom returns descriptions of the changes that f selects and other does not.
func (f SubscriptionFilter) missingFrom(other SubscriptionFilter) []string {
	var names []string
	for _, list := range []struct {
		name            string
		inThis, inOther bool
	}{
		{"the list of tools", f.Tools, other.Tools},
		{"the list of prompts", f.Prompts, other.Prompts},
		{"the list of resources", f.Resources, other.Resources},
	} {
		if list.inThis && !list.inOther {
			names = append(names, list.name)
		}
	}
	for _, uri := range f.URIs {
		if !slices.Contains(other.URIs, uri) {
			names = append(names, uri)
		}
	}
	return names
}

// reportMissing reports the requested changes that are not in the accepted filter.
func (sub *subscription) reportMissing(c *connection, given SubscriptionFilter) {
	if missing := sub.missingFrom(given); len(missing) > 0 {
		c.addFinding(wire.Warning, "not_honoured", "the server does not report changes of "+strings.Join(missing, ", "))
	}
}
