package proxy

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A subject is what a rule may apply to: a message to forward, or an HTTP request without a
// message.
type subject struct {
	Row *rows.Row
	// Message is nil if an HTTP request has no message.
	Message *wire.Message
	// Session is the session id of an HTTP request.
	Session string
}

// A decision is a rule that applies to a message, with the values drawn for it.
type decision struct {
	Action
	// Wait is how long to wait, jitter included.
	Wait time.Duration
	// Row describes the message. Facts is what the recording says about the fault.
	Row   *rows.Row
	Facts wire.FaultFacts

	message *wire.Message
	dir     wire.Direction
	// namesRevision is set if the request itself names its protocol revision.
	namesRevision bool
	seeds         [2]uint64
}

// statusPrefix begins wire.FaultFacts.Action of an action status; the code follows.
const statusPrefix = string(actionStatus) + " "

// Add appends rules, which apply at once, after the rules that were added before. If an action does
// not work over the Desk's link, it returns an error about the first such rule and adds no rule.
func (d *Desk) Add(rules []*Rule) error {
	for _, r := range rules {
		if reason := r.Action.checkLink(d.Link); reason != "" {
			return &RuleError{r.Source, r.Line, r.actionColumn, reason}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range rules {
		r.Seed = d.Seed
		if r.seed != nil {
			r.Seed = *r.seed
		}
		r.Number = len(d.rules) + 1
		r.random = rand.New(rand.NewPCG(r.Seed, uint64(r.Number)))
		r.addedAt = d.Now()
		d.rules = append(d.rules, r)
		d.mayFire.Store(true)
	}
	return nil
}

// Remove removes the rule with a number, or all rules if number is 0. It returns how many it
// removed.
func (d *Desk) Remove(number int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	mayFire := false
	removed := 0
	for _, r := range d.rules {
		if !r.Removed && (number == 0 || r.Number == number) {
			r.Removed = true
			removed++
		}
		hasExpired := r.Action.Name == actionExpireSession && r.Fired > 0
		mayFire = mayFire || !r.Removed || hasExpired
	}
	d.mayFire.Store(mayFire)
	return removed
}

// Rules returns the rules in the order they were added. It includes removed rules if all is set.
func (d *Desk) Rules(all bool) []ListedRule {
	d.mu.Lock()
	defer d.mu.Unlock()
	var rows []ListedRule
	for _, r := range d.rules {
		if all || !r.Removed {
			rows = append(rows, r.ListedRule)
		}
	}
	return rows
}

// UsesRandomness reports whether a rule uses random numbers.
func (d *Desk) UsesRandomness() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.rules, (*Rule).isRandom)
}

func (r *Rule) isRandom() bool {
	return r.chance < 1 || r.Action.Jitter > 0 || r.Action.Name == actionGarbage
}

// fireRule returns the decision of the first rule that fires, or nil if no rule fires. A session
// that a rule has expired stays expired, even if that rule was removed.
func (d *Desk) fireRule(c subject) *decision {
	if !d.mayFire.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.expiredSessions.Get(c.Session); r != nil { // "" is never a key
		return r.decide(c)
	}
	kind := kindOfSubject(c)
	for _, r := range d.rules {
		if r.Removed || !r.appliesTo(kind, c) || !r.filter.MatchLive(c.Row, c.Message) || !r.fires(d.Now()) {
			continue
		}
		if r.Action.Name == actionExpireSession {
			d.expiredSessions.Put(c.Session, r)
		}
		return r.decide(c)
	}
	return nil
}

// kindOfSubject returns the kind of messages that the subject belongs to.
func kindOfSubject(c subject) messageSet {
	if c.Row.Dir == wire.Received {
		return fromServer
	}
	if c.Message == nil {
		return withoutMessage
	}
	if c.Message.Kind == wire.Request {
		return requestsSent
	}
	return notificationsSent
}

// appliesTo reports whether the rule's action can be applied to the subject.
func (r *Rule) appliesTo(kind messageSet, c subject) bool {
	switch {
	case r.Action.kind.messages&kind == 0:
		return false
	case r.Action.Name == actionDropNotification:
		return c.Message.Kind == wire.Notification
	case r.Action.Name == actionToolError:
		return c.Message.Method == "tools/call"
	case r.Action.Name == actionExpireSession:
		return c.Session != ""
	// A notification has no response with a value to replace.
	case r.Action.Name == actionReplace && kind == notificationsSent:
		return r.Action.OfRequest
	}
	return kind != fromServer || r.includesServer
}

// fires counts the message and reports whether the rule's conditions hold. It draws one random
// number for each counted message, so that the n-th message is treated the same way in every run.
func (r *Rule) fires(now time.Time) bool {
	r.Seen++
	draw := r.random.Float64()
	age := now.Sub(r.addedAt)
	isCounted := (r.nth == 0 || r.Seen == r.nth) && (r.every == 0 || r.Seen%r.every == 0)
	isDrawn := draw < r.chance
	isInTime := age >= r.after && (r.duration == 0 || age < r.after+r.duration)
	if !isCounted || !isDrawn || !isInTime {
		return false
	}
	r.Fired++
	return true
}

// decide returns the decision to apply the rule's action to the subject, with the random numbers
// that the action may need.
func (r *Rule) decide(c subject) *decision {
	d := &decision{
		Action:  r.Action,
		Wait:    r.Action.Wait,
		Row:     c.Row,
		message: c.Message,
		dir:     c.Row.Dir,
		seeds:   [2]uint64{r.random.Uint64(), r.random.Uint64()},
		Facts: wire.FaultFacts{
			Rule:   r.Text,
			Source: r.Source,
			Line:   r.Line,
			Action: string(r.Action.Name),
			Method: c.Row.Method,
			Name:   c.Row.Name,
			Seed:   r.Seed,
		},
	}
	if r.Action.Jitter > 0 {
		d.Wait += time.Duration((2*r.random.Float64() - 1) * float64(r.Action.Jitter))
	}
	if d.Name == actionStatus {
		d.Facts.Action = statusPrefix + strconv.FormatInt(d.N, 10)
	}
	if c.Message != nil {
		d.Facts.ID = string(c.Message.ID)
		d.namesRevision = jsonraw.First(jsonraw.First(c.Message.Params, "_meta"),
			"io.modelcontextprotocol/protocolVersion") != nil
	}
	return d
}
