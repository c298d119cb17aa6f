package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// maxRepeated bounds how many different things of one conversation are counted:
// their names may be a server's.
const maxRepeated = 20

// A repeatedFindings counts what a server does again and again, in the order of its first
// times.
type repeatedFindings struct {
	rows []*repeatedFinding
}

type repeatedFinding struct {
	first   wire.Finding
	summary string
	count   int
	// before is how many there were of a process before, where that is started again.
	previousCount int
}

// add counts f and reports whether it is the first of its kind. what are several
// of them: `lines on standard output were no messages`.
func (r *repeatedFindings) add(f wire.Finding, summary string) (first bool) {
	for _, row := range r.rows {
		if row.summary == summary {
			row.count++
			return false
		}
	}
	if len(r.rows) == maxRepeated {
		return false
	}
	r.rows = append(r.rows, &repeatedFinding{first: f, summary: summary, count: 1})
	return true
}

// sums are the findings that say how many there were, where that was not one.
func (r *repeatedFindings) summaries() []wire.Finding {
	var all []wire.Finding
	for _, row := range r.rows {
		if n := max(row.count, row.previousCount); n > 1 {
			f := row.first
			f.Text = fmt.Sprintf("%d %s", n, row.summary)
			all = append(all, f)
		}
	}
	return all
}

// findings report what is wrong with what comes and can be lived with.
type findings struct {
	// report takes each; it may be nil.
	sink func(wire.Finding)
	// once are the rules that were reported once and are not reported again.
	once *onceRules

	repeatedMu sync.Mutex // guards what is below
	repeated   repeatedFindings
}

// onceRules are rules that are reported once in a session.
type onceRules struct {
	mu       sync.Mutex
	reported map[string]bool
}

// isFirst reports whether rule has not been reported yet, and marks it as reported.
func (r *onceRules) markReported(rule string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wasReported := r.reported[rule]
	if r.reported == nil {
		r.reported = map[string]bool{}
	}
	r.reported[rule] = true
	return !wasReported
}

// startedAgain begins to count again what a process does that is started again: what it said before it says once more,
// and that is not more of it.
func (fs *findings) restartCounts() {
	fs.repeatedMu.Lock()
	defer fs.repeatedMu.Unlock()
	for _, row := range fs.repeated.rows {
		if slices.Contains([]string{transport.NoiseSummary, transport.TextSummary, transport.GluedSummary}, row.summary) {
			row.previousCount = max(row.count, row.previousCount)
			row.count = 0
		}
	}
}

func (fs *findings) Repeated(f wire.Finding, what string) {
	fs.repeatedMu.Lock()
	first := fs.repeated.add(f, what)
	fs.repeatedMu.Unlock()
	if first {
		fs.Finding(f)
	}
}

// finish reports how often came what came again and again.
func (fs *findings) reportRepeated() {
	fs.repeatedMu.Lock()
	sums := fs.repeated.summaries()
	fs.repeated = repeatedFindings{}
	fs.repeatedMu.Unlock()
	for _, sum := range sums {
		fs.Finding(sum)
	}
}

// found reports a finding that is about no place in a message.
func (fs *findings) addFinding(level wire.Level, rule, text string) {
	fs.Finding(wire.Finding{Rule: rule, Level: level, Text: text})
}

func (fs *findings) Finding(f wire.Finding) {
	if fs.sink != nil {
		fs.sink(f)
	}
}

// complain reports a rule that the server breaks once in a session: a server
// that breaks it does so with every message.
func (fs *findings) warnOnce(rule, text string) {
	if fs.once.markReported(rule) {
		fs.addFinding(wire.Warning, rule, text)
	}
}

// orphan reports a response to no open request. One to a request that was
// given up is no fault (basic/utilities/cancellation), and one to a probe says late what
// was concluded from the silence.
func (c *connection) reportOrphan(id json.RawMessage) {
	c.mu.Lock()
	givenUp, known := c.requestIDs.Lookup(string(id))
	probe := givenUp && string(id) == c.abandonedProbe
	c.mu.Unlock()
	if probe {
		return
	}
	f := wire.Finding{
		Rule:  "orphan",
		Level: wire.Warning,
		Text:  "received a response to no open request, with id " + transport.IDText(id),
	}
	switch {
	case givenUp:
		f.Level = wire.Info
		c.Finding(f)
	case known:
		f.Text = "received a second response to the request with id " + transport.IDText(id) + "; it was ignored"
		c.Repeated(f, "received repeated responses to answered requests")
	default:
		c.Diagnose(
			transport.Diagnostic{
				Text: "in the meantime a response was received with id " + transport.IDText(id) + ", which matches no request",
				Hint: transport.SameIDHint,
			},
		)
		c.Repeated(f, "received responses to no open request")
	}
}
