package recorded

import (
	"context"
	"slices"
	"sync"

	"mcpc/internal/capture/rows"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/live/view"
)

// RowFindings finds the rules that rows broke, for filters. It checks a capture when a row of it is
// asked for first. Its methods may be called concurrently.
type RowFindings struct {
	// Live is set if captures grow: new frames are checked with each call, and the rules about the end
	// of a run once all runs of the capture have ended.
	Live    bool
	mu      sync.Mutex
	indexes []*indexed
}

// maxChecked is how many captures are remembered.
const maxChecked = 16

// An indexed is a capture with the rules that were broken, by the offset of the line.
type indexed struct {
	capture *rows.Capture
	reader  *reader
	broken  map[int64][]broken
	err     error
}

// A broken is a rule that was broken: how severely, and where in the message first.
type broken struct {
	rule     string
	severity conv.Severity
	pointer  string
}

// Words returns the words that a filter can use: severities, rules and tags.
func (j *RowFindings) Words() []string {
	words := []string{string(conv.Error), string(conv.Warn), string(conv.Info)}
	for _, r := range lint.Rules() {
		words = append(words, r.ID)
	}
	for _, r := range lint.Rules() {
		for _, tag := range r.Tags {
			if !slices.Contains(words, tag) {
				words = append(words, tag)
			}
		}
	}
	return words
}

// WordsFor returns the words that match the findings about a row.
func (j *RowFindings) WordsFor(row *rows.Row) (words []string, err error) {
	err = j.eachViolation(row, func(b broken, rule lint.Rule) {
		words = append(append(words, b.rule, string(b.severity)), rule.Tags...)
	})
	return words, err
}

// ViewFindings returns the findings about a row for views, each rule once per severity.
func (j *RowFindings) ViewFindings(row *rows.Row) (all []view.Finding, err error) {
	err = j.eachViolation(row, func(b broken, rule lint.Rule) {
		f := view.Finding{Rule: b.rule, Severity: string(b.severity), Text: rule.Title, Fix: rule.Fix, Pointer: b.pointer}
		if !slices.ContainsFunc(all, func(is view.Finding) bool { return is.Rule == f.Rule && is.Severity == f.Severity }) {
			all = append(all, f)
		}
	})
	return all, err
}

// eachViolation calls visit with each rule that was broken in the lines of a row.
func (j *RowFindings) eachViolation(row *rows.Row, visit func(b broken, rule lint.Rule)) error {
	if row.Capture() == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	x := j.index(row.Capture())
	for at := range row.Lines() {
		for _, b := range x.broken[at] {
			rule, _ := lint.Find(b.rule)
			visit(b, rule)
		}
	}
	return x.err
}

// index returns the index of a capture, updated with the frames recorded since.
func (j *RowFindings) index(c *rows.Capture) *indexed {
	i := slices.IndexFunc(j.indexes, func(x *indexed) bool { return x.capture == c })
	if i < 0 {
		x := &indexed{capture: c, broken: map[int64][]broken{}}
		x.reader = newChecker(c, func(at int64, f lint.Finding) {
			same := func(b broken) bool { return b.rule == f.Rule && b.severity == f.Severity }
			if !slices.ContainsFunc(x.broken[at], same) {
				x.broken[at] = append(x.broken[at], broken{f.Rule, f.Severity, f.Evidence[0].Pointer})
			}
		})
		j.indexes = append(j.indexes[max(0, len(j.indexes)+1-maxChecked):], x)
		i = len(j.indexes) - 1
	}
	x := j.indexes[i]
	if x.err != nil {
		return x
	}
	if !j.Live || allEnded(c) { // nothing follows: read the rest, and report missing answers
		x.err = x.reader.close(context.Background())
	} else if x.reader.frames.IsBehind() {
		x.err = x.reader.read(context.Background())
	}
	return x
}

func allEnded(c *rows.Capture) bool {
	for run := range c.Heads {
		if !c.RunEnded(run) {
			return false
		}
	}
	return true
}
