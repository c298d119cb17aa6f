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

// RowFindings finds the rules that rows broke, for filters. It checks a capture at the first
// question about a row of it. Its methods may be called concurrently.
type RowFindings struct {
	// Live is set if captures grow: new frames are checked with each call, and the rules about the
	// end of a run once all runs of the capture have ended.
	Live    bool
	mu      sync.Mutex
	checked []*checkedCapture
}

// maxChecked is how many captures are remembered.
const maxChecked = 16

// A checkedCapture is a capture with the rules that its frames broke.
type checkedCapture struct {
	capture *rows.Capture
	checker *captureChecker
	// violations are by the offset in the file of the line that broke the rule.
	violations map[int64][]violation
	err        error // the capture could not be read to its end
}

// A violation is a rule that was broken, how severely, and a JSON pointer to the first place. got is an excerpt of
// what was there.
type violation struct {
	rule         string
	severity     conv.Severity
	pointer, got string
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
	err = j.eachViolation(row, func(v violation, rule lint.Rule) {
		words = append(append(words, v.rule, string(v.severity)), rule.Tags...)
	})
	return words, err
}

// ViewFindings returns the findings about a row for views, each rule once per severity.
func (j *RowFindings) ViewFindings(row *rows.Row) ([]view.Finding, error) {
	var findings []view.Finding
	err := j.eachViolation(row, func(v violation, rule lint.Rule) {
		finding := view.Finding{
			Rule: v.rule, Severity: string(v.severity), Text: rule.Title, Fix: rule.Fix, Pointer: v.pointer,
			Got: v.got,
		}
		isSame := func(f view.Finding) bool { return f.Rule == finding.Rule && f.Severity == finding.Severity }
		if !slices.ContainsFunc(findings, isSame) {
			findings = append(findings, finding)
		}
	})
	return findings, err
}

// eachViolation calls visit with each rule that was broken in the lines of a row.
func (j *RowFindings) eachViolation(row *rows.Row, visit func(v violation, rule lint.Rule)) error {
	if row.Capture() == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	checked := j.check(row.Capture())
	for offset := range row.Lines() {
		for _, v := range checked.violations[offset] {
			rule, _ := lint.Find(v.rule)
			visit(v, rule)
		}
	}
	return checked.err
}

// check checks the frames of a capture that were recorded since the last call, and returns all
// violations so far. It remembers the last maxChecked captures.
func (j *RowFindings) check(c *rows.Capture) *checkedCapture {
	i := slices.IndexFunc(j.checked, func(checked *checkedCapture) bool { return checked.capture == c })
	if i < 0 {
		firstKept := max(0, len(j.checked)+1-maxChecked) // the oldest are forgotten
		j.checked = append(j.checked[firstKept:], newCheckedCapture(c))
		i = len(j.checked) - 1
	}
	checked := j.checked[i]
	if checked.err != nil { // the rest cannot be read either
		return checked
	}
	if !j.Live || allEnded(c) { // nothing follows: read the rest, and report missing answers
		checked.err = checked.checker.close(context.Background())
	} else if checked.checker.frames.IsBehind() {
		checked.err = checked.checker.read(context.Background())
	}
	return checked
}

// newCheckedCapture returns a capture without checked frames.
func newCheckedCapture(c *rows.Capture) *checkedCapture {
	checked := &checkedCapture{capture: c, violations: map[int64][]violation{}}
	checked.checker = newChecker(c, func(offset int64, f lint.Finding) {
		isSame := func(v violation) bool { return v.rule == f.Rule && v.severity == f.Severity }
		if !slices.ContainsFunc(checked.violations[offset], isSame) {
			added := violation{f.Rule, f.Severity, f.Evidence[0].Pointer, f.Evidence[0].Got}
			checked.violations[offset] = append(checked.violations[offset], added)
		}
	})
	return checked
}

// allEnded reports whether all runs of a capture have ended, so that it does not grow.
func allEnded(c *rows.Capture) bool {
	for run := range c.Heads {
		if !c.RunEnded(run) {
			return false
		}
	}
	return true
}
