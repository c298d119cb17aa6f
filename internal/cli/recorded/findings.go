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

// RowFindings say of rows which rules they broke, for filters. A capture is judged when the
// first of its rows is asked about. Several goroutines may ask.
type RowFindings struct {
	// Live is set where captures grow: then each is read on, and what depends on its end is
	// judged once all of its runs have theirs.
	Live bool
	mu   sync.Mutex
	kept []*indexed
}

// mostKept is how many captures are remembered.
const mostKept = 16

// indexed is a capture, and which rules were broken in which line of it.
type indexed struct {
	capture *rows.Capture
	reader  *reader
	broken  map[int64][]broken
	failed  error
}

// broken is a rule, how gravely it was broken, and where in the message first.
type broken struct {
	rule     string
	severity conv.Severity
	pointer  string
}

// Words are what a filter can name: rules, tags and severities.
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

// Of are the words for the findings about a row.
func (j *RowFindings) Of(row *rows.Row) (words []string, err error) {
	err = j.each(row, func(b broken, rule lint.Rule) {
		words = append(append(words, b.rule, string(b.severity)), rule.Tags...)
	})
	return words, err
}

// Shown are the findings about a row as views show them, each once.
func (j *RowFindings) Shown(row *rows.Row) (all []view.Finding, err error) {
	err = j.each(row, func(b broken, rule lint.Rule) {
		f := view.Finding{Rule: b.rule, Severity: string(b.severity), Text: rule.Title, Fix: rule.Fix, Pointer: b.pointer}
		if !slices.ContainsFunc(all, func(is view.Finding) bool { return is.Rule == f.Rule && is.Severity == f.Severity }) {
			all = append(all, f)
		}
	})
	return all, err
}

// each calls look with each rule that was broken in the lines of a row.
func (j *RowFindings) each(row *rows.Row, look func(b broken, rule lint.Rule)) error {
	if row.Capture() == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	x := j.index(row.Capture())
	for at := range row.Lines() {
		for _, b := range x.broken[at] {
			rule, _ := lint.Find(b.rule)
			look(b, rule)
		}
	}
	return x.failed
}

// index is that of a capture, as far as it has been read.
func (j *RowFindings) index(c *rows.Capture) *indexed {
	i := slices.IndexFunc(j.kept, func(x *indexed) bool { return x.capture == c })
	if i < 0 {
		x := &indexed{capture: c, broken: map[int64][]broken{}}
		x.reader = newReader(c, func(at int64, f lint.Finding) {
			same := func(b broken) bool { return b.rule == f.Rule && b.severity == f.Severity }
			if !slices.ContainsFunc(x.broken[at], same) {
				x.broken[at] = append(x.broken[at], broken{f.Rule, f.Severity, f.Evidence[0].Pointer})
			}
		})
		j.kept = append(j.kept[max(0, len(j.kept)+1-mostKept):], x)
		i = len(j.kept) - 1
	}
	x := j.kept[i]
	switch {
	case x.failed != nil:
	case !j.Live || allEnded(c):
		x.failed = x.reader.close(context.Background())
	case x.reader.frames.Behind():
		x.failed = x.reader.read(context.Background())
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
