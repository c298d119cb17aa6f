package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// The limits of --learn: the runs, the bytes of distinct answers in memory, and the listed
// differences without a matcher.
const (
	maxLearned    = 20
	maxHeld       = 128 << 20
	maxUnproposed = 10
)

// A learner collects the answers of several runs of one selection.
type learner struct {
	answered  map[*rows.Row]*distinctAnswers
	order     []*rows.Row
	heldBytes int
	failed    error
	// unproposed are the paths that differ from the recording without a proposed matcher.
	unproposed []string
}

// distinctAnswers are the distinct present answers to one request, with the recorded handles.
type distinctAnswers struct {
	comparison match.Comparison
	results    []json.RawMessage
	// otherPaths are the paths of the differences outside of results.
	otherPaths []string
}

// learn replays several times and proposes matchers for the differences between the runs. It judges
// nothing and applies no matcher.
func learn(ctx context.Context, f *cmdutil.Factory, o options, s *selection, judge judgement) error {
	l := &learner{answered: map[*rows.Row]*distinctAnswers{}}
	for range o.learn {
		c, out := s.play(ctx, f, o, judge, l.addItem)
		if !out.OK() {
			return cmdutil.Exit(out)
		}
		if err := f.Close(ctx, c); err != nil {
			return err
		}
		if l.failed != nil {
			return l.failed
		}
	}
	rules, total, err := l.propose(judge.Rules)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading "+s.capture.Path, usage.Bare(err)))
	}
	text, err := match.Format(rules)
	if err != nil {
		return err
	}
	f.Progress.Done()
	f.Note(
		fmt.Sprintf("%d runs of %s: %s proposed", o.learn, english.Plural(len(l.order), "answer"),
			english.Plural(total, "matcher")),
	)
	defer l.noteUnproposed(f)
	if total == 0 {
		return nil
	}
	if o.writeMatch != "" {
		if err := cmdutil.ReplaceFile(o.writeMatch, text); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+o.writeMatch, usage.Bare(err)))
		}
		f.Note(
			"written to " + o.writeMatch + "; nothing was applied: " +
				f.HintText(wire.Run("replay --match-file "+o.writeMatch)) + " does",
		)
	}
	return f.WriteOut(func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(f.Secrets.Text(string(text))))
		return err
	})
}

// addItem adds one answer of a run, unless an equal one was added before. It sets l.failed if the
// answers become too large.
func (l *learner) addItem(it item) {
	if l.failed != nil || it.Verdict == Skipped {
		return
	}
	a := l.answered[it.row]
	if a == nil {
		a = &distinctAnswers{comparison: it.comparison}
		l.answered[it.row], l.order = a, append(l.order, it.row)
	}
	differences := it.Differences
	if len(differences) == 0 { // a verdict may fail without a difference
		differences = []match.Difference{{Path: "outcome"}}
	}
	for _, d := range differences { // paths in the result begin with a dot
		if it.Verdict.Fails() && !strings.HasPrefix(d.Path, ".") && !slices.Contains(a.otherPaths, d.Path) {
			a.otherPaths = append(a.otherPaths, d.Path)
		}
	}
	if it.result == nil ||
		slices.ContainsFunc(a.results, func(r json.RawMessage) bool { return bytes.Equal(r, it.result) }) {
		return
	}
	a.comparison, a.results = it.comparison, append(a.results, slices.Clone(it.result))
	l.heldBytes += len(it.result)
	if l.heldBytes > maxHeld {
		l.failed = usage.New(fmt.Sprintf("the answers have more than %d MB, which --learn keeps in memory", maxHeld>>20),
			"a filter selects some of the exchanges")
	}
}

// propose returns the proposed rules, in a section for each method and name, and their number. given
// are the rules of the user. It fills l.unproposed. The error is of reading the recording.
func (l *learner) propose(given *match.Rules) (*match.Rules, int, error) {
	sections := map[[2]string]*match.Section{}
	rules := &match.Rules{}
	total := 0
	for _, row := range l.order {
		x, err := row.Exchange()
		if err != nil {
			return nil, 0, err
		}
		a := l.answered[row]
		proposed, err := proposeFor(resultOf(x), a.results, a.comparison)
		if err != nil || len(proposed) == 0 { // err: the answers cannot be compared
			continue
		}
		key := [2]string{row.Method, a.comparison.Name}
		if sections[key] == nil {
			sections[key] = &match.Section{Method: key[0], Name: key[1]}
		}
		sections[key].Rules = match.Merge(sections[key].Rules, proposed)
	}
	for _, row := range l.order {
		key := [2]string{row.Method, l.answered[row].comparison.Name}
		if section := sections[key]; section != nil {
			rules.Sections = append(rules.Sections, *section)
			total += len(section.Rules)
			delete(sections, key)
		}
	}
	allRules := &match.Rules{Sections: slices.Concat(given.Sections, rules.Sections)}
	for _, row := range l.order {
		x, err := row.Exchange()
		if err != nil {
			return nil, 0, err
		}
		l.addUnproposed(row, resultOf(x), allRules)
	}
	return rules, total, nil
}

// proposeFor returns rules that make a recorded value equal to each of the answers, for the values
// that vary between the answers. A value that differs from the recording in all answers alike gets
// a rule only if it is a time or a UUID on all sides; else it may be a fault.
func proposeFor(recorded json.RawMessage, answers []json.RawMessage, c match.Comparison) ([]match.Rule, error) {
	amongAnswers := c
	amongAnswers.RecordedRevision = c.CurrentRevision // all answers are of the present revision
	varied, err := match.Propose(answers, amongAnswers)
	if err != nil {
		return nil, err
	}
	all, err := match.Propose(append([]json.RawMessage{recorded}, answers...), c)
	if err != nil {
		return varied, nil // the recorded value cannot be compared
	}
	var rules []match.Rule
	for _, rule := range all {
		// A rule for a varying value also covers what is below it, unless it only says that a list is unordered.
		varies := slices.ContainsFunc(varied, func(v match.Rule) bool {
			n := len(v.Path)
			return n <= len(rule.Path) && v.Path.Covers(rule.Path[:n]) &&
				(n == len(rule.Path) || v.Matcher.Kind != match.Unordered)
		})
		if varies || rule.Matcher.Kind == match.Time || rule.Matcher.Kind == match.UUID {
			rules = append(rules, rule)
		}
	}
	return match.Merge(rules, varied), nil
}

// addUnproposed adds the differences of a row that no rule covers to l.unproposed.
func (l *learner) addUnproposed(row *rows.Row, recorded json.RawMessage, rules *match.Rules) {
	add := func(path, why string) {
		text := strings.TrimSpace(row.Method+" "+row.Name) + " " + path + why
		if !slices.Contains(l.unproposed, text) {
			l.unproposed = append(l.unproposed, text)
		}
	}
	a := l.answered[row]
	for _, path := range a.otherPaths {
		add(path, " differs from the recording: no matcher is for that")
	}
	c := a.comparison
	c.Rules = rules
	c.HiddenUnknown = true
	for _, current := range a.results {
		if recorded == nil {
			return // there was an error, or no answer
		}
		for _, d := range match.Compare(recorded, current, c).Differences {
			add(d.Path, " differs from the recording in all runs: not proposed")
		}
	}
}

// noteUnproposed prints the differences in l.unproposed.
func (l *learner) noteUnproposed(f *cmdutil.Factory) {
	for i, text := range l.unproposed {
		if i == maxUnproposed {
			f.Note(fmt.Sprintf("%d more differ from the recording", len(l.unproposed)-i))
			return
		}
		f.Note(text)
	}
}
