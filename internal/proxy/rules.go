package proxy

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Rules is the rules of one link, which can change while it is used.
type Rules struct {
	// Seed is that of rules without one of their own. The random numbers of a rule depend on
	// its seed and its place among the rules only.
	Seed uint64
	// Link is what there is, Now the time.
	Link Link
	Now  func() time.Time
	// Encode makes a text fit for a header field.
	Encode func(string) string
	// Live makes the rows that filters are asked about.
	Live capture.Live

	mu     sync.Mutex
	rules  []*Rule // with those that were removed
	active atomic.Bool
	// expired are the rules that have ended a session, by its id.
	expired map[string]*Rule
}

// A Crossing is a message on its way, or an HTTP request without one.
type Crossing struct {
	Row *capture.Row
	// Message is nil where there is none.
	Message *wire.Message
	// Session is the id of the session that an HTTP request names.
	Session string
}

// A Decision is a rule that fires for a message.
type Decision struct {
	Action
	// Wait is how long to wait, with the jitter.
	Wait time.Duration
	// Row is that of the message, Facts what the recording says of the fault.
	Row   *capture.Row
	Facts wire.FaultFacts

	message *wire.Message
	crossed wire.Direction
	// standsAlone is set where the request names its revision itself.
	standsAlone bool
	seeds       [2]uint64
}

// Add puts rules behind those there are. An error is that of the first whose action cannot be
// done here, and none is added then.
func (s *Rules) Add(rules []*Rule) error {
	for _, r := range rules {
		if reason := r.Action.needs(s.Link); reason != "" {
			return &RuleError{r.Source, r.Line, r.column, reason}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		if r.Seed = s.Seed; r.seed != nil {
			r.Seed = *r.seed
		}
		r.Number = len(s.rules) + 1
		r.random, r.since = rand.New(rand.NewPCG(r.Seed, uint64(r.Number))), s.Now()
		s.rules = append(s.rules, r)
		s.active.Store(true)
	}
	return nil
}

// Remove takes away the rule with a number, or all where it is 0, and gives how many.
func (s *Rules) Remove(number int) (removed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := false
	for _, r := range s.rules {
		if !r.Removed && (number == 0 || r.Number == number) {
			r.Removed = true
			removed++
		}
		left = left || !r.Removed
	}
	s.active.Store(left)
	return removed
}

// Active reports that there is a rule. A nil Rules has none.
func (s *Rules) Active() bool { return s != nil && s.active.Load() }

// List gives the rules in their order; all those that were removed as well.
func (s *Rules) List(all bool) (rows []ListedRule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if all || !r.Removed {
			rows = append(rows, r.ListedRule)
		}
	}
	return rows
}

// Random reports whether a rule has random numbers.
func (s *Rules) Random() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.rules, func(r *Rule) bool { return r.chance < 1 || r.Action.Jitter > 0 || r.Action.Name == "garbage" })
}

// Decide finds the first rule that fires for what crosses; nil where none does.
func (s *Rules) Decide(c Crossing) *Decision {
	if !s.Active() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.expired[c.Session]; r != nil {
		return r.decision(c)
	}
	kind := kindOfCrossing(c)
	var raw []byte
	if c.Message != nil {
		raw = c.Message.Raw
	}
	for _, r := range s.rules {
		if r.Removed || !r.mayDo(kind, c) || !r.filter.MatchLive(c.Row, raw) || !r.fires(s.Now()) {
			continue
		}
		if r.Action.Name == "expire-session" {
			if s.expired == nil || len(s.expired) > mostWatched {
				s.expired = map[string]*Rule{}
			}
			s.expired[c.Session] = r
		}
		return r.decision(c)
	}
	return nil
}

func kindOfCrossing(c Crossing) on {
	switch {
	case c.Row.Dir == wire.Received:
		return told
	case c.Message == nil:
		return bare
	case c.Message.Kind == wire.Request:
		return calls
	}
	return notes
}

// mayDo reports whether the action can be done to what crosses.
func (r *Rule) mayDo(kind on, c Crossing) bool {
	switch {
	case r.Action.kind.on&kind == 0:
		return false
	case r.Action.Name == "drop notification":
		return c.Message.Kind == wire.Notification
	case r.Action.Name == "tool-error":
		return c.Message.Method == "tools/call"
	case r.Action.Name == "expire-session":
		return c.Session != ""
	case r.Action.Name == "replace" && kind == notes:
		return r.Action.OfRequest
	}
	return kind != told || r.told
}

// fires counts the message, and asks the conditions. Each message that is counted takes one
// random number, so that the n-th is treated the same way each time.
func (r *Rule) fires(now time.Time) bool {
	r.Seen++
	draw := r.random.Float64()
	passed := now.Sub(r.since)
	if r.nth > 0 && r.Seen != r.nth || r.every > 0 && r.Seen%r.every != 0 || r.chance < 1 && draw >= r.chance ||
		passed < r.after || r.dur > 0 && passed >= r.after+r.dur {
		return false
	}
	r.Fired++
	return true
}

func (r *Rule) decision(c Crossing) *Decision {
	d := &Decision{Action: r.Action, Wait: r.Action.Wait, Row: c.Row, message: c.Message, crossed: c.Row.Dir,
		seeds: [2]uint64{r.random.Uint64(), r.random.Uint64()},
		Facts: wire.FaultFacts{Rule: r.Text, Source: r.Source, Line: r.Line, Action: r.Action.Name, Method: c.Row.Method, Name: c.Row.Name, Seed: r.Seed}}
	if r.Action.Jitter > 0 {
		d.Wait += time.Duration((2*r.random.Float64() - 1) * float64(r.Action.Jitter))
	}
	if d.Name == "status" {
		d.Facts.Action += " " + strconv.FormatInt(d.N, 10)
	}
	if c.Message != nil {
		d.Facts.ID = string(c.Message.ID)
		d.standsAlone = jsonraw.First(jsonraw.First(c.Message.Params, "_meta"), "io.modelcontextprotocol/protocolVersion") != nil
	}
	return d
}
