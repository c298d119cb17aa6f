package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/outfile"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/replay"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// The limits of --learn: runs, and the bytes of the answers of the first one, which the others
// are compared with.
const (
	mostLearned = 20
	mostHeld    = 128 << 20
)

// A learner gathers what differs between several runs of one selection.
type learner struct {
	first map[*capture.Row]json.RawMessage
	held  int
	// proposed are the rules by method and name.
	proposed map[[2]string][]match.Rule
	order    [][2]string
	counts   map[replay.Verdict]int
	failed   error
}

// learn replays several times, and proposes matchers for what differed between the runs. It
// judges nothing and applies none of them.
func learn(ctx context.Context, f *cmdutil.Factory, o options, s *selection, judge judgement) error {
	l := &learner{first: map[*capture.Row]json.RawMessage{}, proposed: map[[2]string][]match.Rule{}, counts: map[replay.Verdict]int{}}
	for n := range o.learn {
		c, out := s.play(ctx, f, o, judge, func(it item) { l.item(n, it) })
		if !out.Good() {
			return cmdutil.Exit(out)
		}
		if err := f.Close(ctx, c); err != nil {
			return err
		}
		if l.failed != nil {
			return l.failed
		}
	}
	rules := &match.Rules{}
	total := 0
	for _, key := range l.order {
		rules.Sections = append(rules.Sections, match.Section{Method: key[0], Name: key[1], Rules: l.proposed[key]})
		total += len(l.proposed[key])
	}
	text, err := match.Format(rules)
	if err != nil {
		return err
	}
	f.Progress.Done()
	f.Note(fmt.Sprintf("%d runs of %s: %s proposed", o.learn, english.Plural(len(l.first), "answer"), english.Plural(total, "matcher")))
	if total == 0 {
		return nil
	}
	if o.write != "" {
		if err := outfile.ReplaceFile(o.write, text); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+o.write, usage.Bare(err)))
		}
		f.Note("written to " + o.write + "; nothing was applied: " + f.HintText(wire.Run("replay --match-file "+o.write)) + " does")
	}
	return cmdutil.WriteOut(f, func(w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(f.Secrets.Text(string(text))))
		return err
	})
}

// item takes one answer of a run, numbered from 0.
func (l *learner) item(run int, it item) {
	if it.result == nil || l.failed != nil {
		return
	}
	first, there := l.first[it.row]
	if run == 0 {
		l.first[it.row] = slices.Clone(it.result)
		if l.held += len(it.result); l.held > mostHeld {
			l.failed = usage.New(fmt.Sprintf("the answers have more than %d MB, which --learn keeps in memory", mostHeld>>20), "a filter selects some of the exchanges")
		}
		return
	}
	if !there {
		return
	}
	c := it.part
	c.WasRevision = c.IsRevision // both are of the present
	rules, err := match.Propose([]json.RawMessage{first, it.result}, c)
	if err != nil || len(rules) == 0 {
		return
	}
	key := [2]string{it.row.Method, it.part.Name}
	if _, known := l.proposed[key]; !known {
		l.order = append(l.order, key)
	}
	l.proposed[key] = match.Merge(l.proposed[key], rules)
}
