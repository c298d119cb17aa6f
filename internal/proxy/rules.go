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

// A Crossing is a message on its way, or an HTTP request without one.
type subject struct {
	Row *rows.Row
	// Message is nil where there is none.
	Message *wire.Message
	// Session is the id of the session that an HTTP request names.
	Session string
}

// A Decision is a rule that fires for a message.
type decision struct {
	Action
	// Wait is how long to wait, with the jitter.
	Wait time.Duration
	// Row is that of the message, Facts what the recording says of the fault.
	Row   *rows.Row
	Facts wire.FaultFacts

	message *wire.Message
	dir     wire.Direction
	// standsAlone is set where the request names its revision itself.
	namesRevision bool
	seeds         [2]uint64
}

// Add puts rules behind those there are. An error is that of the first whose action cannot be
// done here, and none is added then.
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
		d.hasRules.Store(true)
	}
	return nil
}

// Remove takes away the rule with a number, or all where it is 0, and gives how many.
func (d *Desk) Remove(number int) (removed int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := false
	for _, r := range d.rules {
		if !r.Removed && (number == 0 || r.Number == number) {
			r.Removed = true
			removed++
		}
		left = left || !r.Removed
	}
	d.hasRules.Store(left)
	return removed
}

// Rules returns the rules in their order, with all set also those that were removed.
func (d *Desk) Rules(all bool) (rows []ListedRule) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.rules {
		if all || !r.Removed {
			rows = append(rows, r.ListedRule)
		}
	}
	return rows
}

// Random reports whether a rule has random numbers.
func (d *Desk) Random() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.rules,
		func(r *Rule) bool { return r.chance < 1 || r.Action.Jitter > 0 || r.Action.Name == "garbage" })
}

// Fault finds the first rule that fires for what crosses; nil where none does.
func (d *Desk) Fault(c subject) *decision {
	if !d.hasRules.Load() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.expiredSessions.Get(c.Session); r != nil {
		return r.decide(c)
	}
	kind := kindOfSubject(c)
	var raw []byte
	if c.Message != nil {
		raw = c.Message.Raw
	}
	for _, r := range d.rules {
		if r.Removed || !r.appliesTo(kind, c) || !r.filter.MatchLive(c.Row, raw) || !r.fires(d.Now()) {
			continue
		}
		if r.Action.Name == "expire-session" {
			d.expiredSessions.Put(c.Session, r)
		}
		return r.decide(c)
	}
	return nil
}

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

// mayDo reports whether the action can be done to what crosses.
func (r *Rule) appliesTo(kind messageSet, c subject) bool {
	switch {
	case r.Action.kind.messages&kind == 0:
		return false
	case r.Action.Name == "drop notification":
		return c.Message.Kind == wire.Notification
	case r.Action.Name == "tool-error":
		return c.Message.Method == "tools/call"
	case r.Action.Name == "expire-session":
		return c.Session != ""
	case r.Action.Name == "replace" && kind == notificationsSent:
		return r.Action.OfRequest
	}
	return kind != fromServer || r.includesServer
}

// fires counts the message, and asks the conditions. Each message that is counted takes one
// random number, so that the n-th is treated the same way each time.
func (r *Rule) fires(now time.Time) bool {
	r.Seen++
	draw := r.random.Float64()
	passed := now.Sub(r.addedAt)
	if r.nth > 0 && r.Seen != r.nth || r.every > 0 && r.Seen%r.every != 0 || r.chance < 1 && draw >= r.chance ||
		passed < r.after || r.duration > 0 && passed >= r.after+r.duration {
		return false
	}
	r.Fired++
	return true
}

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
			Action: r.Action.Name,
			Method: c.Row.Method,
			Name:   c.Row.Name,
			Seed:   r.Seed,
		},
	}
	if r.Action.Jitter > 0 {
		d.Wait += time.Duration((2*r.random.Float64() - 1) * float64(r.Action.Jitter))
	}
	if d.Name == "status" {
		d.Facts.Action += " " + strconv.FormatInt(d.N, 10)
	}
	if c.Message != nil {
		d.Facts.ID = string(c.Message.ID)
		d.namesRevision = jsonraw.First(jsonraw.First(c.Message.Params, "_meta"),
			"io.modelcontextprotocol/protocolVersion") != nil
	}
	return d
}
