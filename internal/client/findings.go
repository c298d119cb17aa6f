package client

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"mcpc/internal/client/transport"
	"mcpc/internal/wire"
)

// maxRepeated limits how many different findings of a connection are counted: their texts may
// contain names that the server chose.
const maxRepeated = 20

// repeatedFindings count findings that a server causes repeatedly, in the order of their first
// occurrence.
type repeatedFindings struct {
	rows []*repeatedFinding
}

// A repeatedFinding is the first finding of a kind and the number of all.
type repeatedFinding struct {
	first wire.Finding
	// summary names several findings of the kind: "lines on standard output were no messages".
	summary string
	count   int
	// previousCount is the largest count of an earlier process of the server.
	previousCount int
}

// add counts f and reports whether it is the first of its kind. summary, as in repeatedFinding,
// identifies the kind. After maxRepeated kinds, findings of other kinds are not counted or reported.
func (r *repeatedFindings) add(f wire.Finding, summary string) bool {
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

// summaries returns a finding with the total for each kind that occurred more than once.
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

// findings report problems that do not fail a request.
type findings struct {
	// sink receives each finding; it may be nil.
	sink func(wire.Finding)
	// once are the rules that are reported at most once per session.
	once *onceRules

	repeatedMu sync.Mutex // guards repeated
	repeated   repeatedFindings
}

// onceRules are the rules that a session reports at most once.
type onceRules struct {
	mu       sync.Mutex
	reported map[string]bool
}

// markReported marks rule as reported. It reports whether rule was not marked before.
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

// restartCounts restarts the counts of a process's output before the process is started again: the
// new process may repeat what the old one wrote, and the total must not count both.
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

// Repeated counts f and reports it if it is the first of its kind. summary names several of the
// kind.
func (fs *findings) Repeated(f wire.Finding, summary string) {
	fs.repeatedMu.Lock()
	first := fs.repeated.add(f, summary)
	fs.repeatedMu.Unlock()
	if first {
		fs.Finding(f)
	}
}

// reportRepeated reports the totals of the counted findings and resets the counts.
func (fs *findings) reportRepeated() {
	fs.repeatedMu.Lock()
	sums := fs.repeated.summaries()
	fs.repeated = repeatedFindings{}
	fs.repeatedMu.Unlock()
	for _, sum := range sums {
		fs.Finding(sum)
	}
}

// addFinding reports a finding without a location in a message.
func (fs *findings) addFinding(level wire.Severity, rule, text string) {
	fs.Finding(wire.Finding{Rule: rule, Severity: level, Text: text})
}

// Finding reports f.
func (fs *findings) Finding(f wire.Finding) {
	if fs.sink != nil {
		fs.sink(f)
	}
}

// warnOnce reports a broken rule once per session, since a server that breaks it does so with every
// message.
func (fs *findings) warnOnce(rule, text string) {
	if fs.once.markReported(rule) {
		fs.addFinding(wire.Warning, rule, text)
	}
}

// reportOrphan reports a response that matches no pending request. A response to a request that was
// given up is no fault (basic/utilities/cancellation). A late response to a probe is not reported.
func (c *connection) reportOrphan(id json.RawMessage) {
	c.mu.Lock()
	givenUp, known := c.requestIDs.Lookup(string(id))
	probe := givenUp && string(id) == c.abandonedProbe
	c.mu.Unlock()
	if probe {
		return
	}
	f := wire.Finding{
		Rule:     "orphan",
		Severity: wire.Warning,
		Text:     "received a response to no open request, with id " + transport.IDText(id),
	}
	switch {
	case givenUp: // the server may have sent it before it read the cancellation
		f.Severity = wire.Info
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
