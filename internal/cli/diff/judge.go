package diff

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/diff"
	"mcpc/internal/diff/accept"
	"mcpc/internal/diff/report"
	"mcpc/internal/english"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// maxAcceptFile bounds a file of accepted changes, in bytes.
const maxAcceptFile = 16 << 20

// acceptDuration is the validity of an acceptance that --write-accept adds.
const acceptDuration = 90 * 24 * time.Hour

// accepted is the content of the files of --accept and --write-accept.
type accepted struct {
	entries []accept.Entry
	// text is the content of the file that --write-accept appends to.
	text []byte
}

// readAccepted reads the files of --accept and --write-accept, and checks that the second, which need
// not exist, can be written. It runs before any server is contacted. The entries are of --accept, or
// of --write-accept if only that is given. The errors are usage errors.
func readAccepted(f *cmdutil.Factory, o judgeOptions) (a accepted, err error) {
	if o.accept != "" {
		raw, err := f.Env.ReadFile(o.accept, maxAcceptFile)
		if err != nil {
			return a, usage.NotRead("--accept "+o.accept, err, "--write-accept FILE writes one")
		}
		a.entries, err = parseAccepted(o.accept, raw)
		if err != nil {
			return a, err
		}
	}
	if o.writeAccept == "" {
		return a, nil
	}
	if out := cmdutil.CheckAppendable("--write-accept", o.writeAccept); !out.OK() {
		return a, cmdutil.Exit(out)
	}
	a.text, err = f.Env.ReadFile(o.writeAccept, maxAcceptFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a, usage.NotRead("--write-accept "+o.writeAccept, err, "")
	}
	entries, err := parseAccepted(o.writeAccept, a.text)
	if o.accept == "" { // the file to append to is then also the file of --accept
		a.entries = entries
	}
	return a, err
}

// parseAccepted parses a file of accepted changes; name is for the error, which lists the problems
// with line and column.
func parseAccepted(name string, raw []byte) ([]accept.Entry, error) {
	entries, problems := accept.Parse(raw)
	return entries, problemsError(name, problems)
}

// problemsError returns the error for the problems in a file, or nil without problems.
func problemsError(name string, problems []accept.Problem) error {
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return usage.New(
			name+":"+problems[0].String(),
			wire.Run("diff --write-accept FILE")+" writes valid entries",
		)
	}
	e := &usage.Errors{Text: english.Plural(len(problems), "problem") + " in " + name}
	for _, p := range problems {
		e.Findings = append(
			e.Findings,
			wire.Finding{Rule: "accept", Severity: wire.Error, Pointer: name + ":" + p.Place.String() + ":", Text: p.Text},
		)
	}
	return e
}

// apply marks the changes of the report that are accepted today. With --write-accept it then appends
// the failing changes to the file and marks them, too. It returns an error for invalid entries, or if
// the file cannot be written.
func (o *judgeOptions) apply(f *cmdutil.Factory, r *report.Report, a accepted) error {
	file := o.accept
	if file == "" {
		file = o.writeAccept
	}
	today := f.Now().UTC()
	result := accept.Apply(r.Changes, a.entries, today.Format(time.DateOnly))
	if err := problemsError(file, result.Problems); err != nil {
		return err
	}
	r.Changes = result.Changes
	r.Expired = result.Expired
	r.Stale = result.Stale
	r.AcceptFile = file
	if len(o.only) > 0 || o.asModel {
		r.Stale = nil // they may accept changes that were left out
	}
	if o.writeAccept == "" {
		return nil
	}
	level, fails := o.failLevel()
	if !fails { // --fail-on none: harmless changes need no acceptance
		level = diff.Risky
	}
	failing := slices.DeleteFunc(
		slices.Clone(r.Changes),
		func(c diff.Change) bool { return c.Level < level || c.Accepted != "" },
	)
	until := today.Add(acceptDuration).Format(time.DateOnly)
	const reason = "accepted with --write-accept, no reason given yet"
	entries, err := accept.Append(a.text, failing, reason, until)
	if err != nil {
		return usage.New("--write-accept "+o.writeAccept+": "+err.Error(), "write to a new file")
	}
	if len(failing) == 0 {
		f.Note("nothing to accept: " + o.writeAccept + " was not changed")
		return nil
	}
	if err := cmdutil.AppendTo(o.writeAccept, entries); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+o.writeAccept, usage.Bare(err)))
	}
	f.Note(fmt.Sprintf(
		"%s accepted in %s until %s: write the reason for each",
		english.Plural(len(failing), "change"), o.writeAccept, until,
	))
	for i, c := range r.Changes {
		if c.Level >= level && c.Accepted == "" {
			r.Changes[i].Accepted = reason
			r.Changes[i].Until = until
		}
	}
	r.Expired = nil // the new entries replace them
	return nil
}

// verdict returns the outcome of the command for a report: CheckFailed, with the numbers of failing
// changes, if changes of the level of --fail-on or above are not accepted, or the tools grew too
// much; else OK.
func (o *judgeOptions) verdict(r report.Report) wire.Outcome {
	var why []string
	if level, fails := o.failLevel(); fails {
		counts := map[diff.Level]int{}
		for _, c := range r.Changes {
			if c.Accepted == "" && c.Level >= level {
				counts[c.Level]++
			}
		}
		for l := diff.Breaking; l >= diff.Harmless; l-- {
			if n := counts[l]; n > 0 {
				why = append(why, english.Plural(n, l.String()+" change"))
			}
		}
	}
	if percent := r.Sum.Percent(); o.growth != noLimit && percent > o.growth {
		why = append(why, fmt.Sprintf("the tools take %g %% more tokens, above --max-growth %g", percent, o.growth))
	}
	if len(why) == 0 {
		return wire.Outcome{}
	}
	out := wire.Outcome{Kind: wire.CheckFailed, Phase: "result", Text: strings.Join(why, ", ")}
	if len(r.Expired) > 0 {
		out.Text += fmt.Sprintf(" (%s in %s)", english.Plural(len(r.Expired), "expired acceptance"), r.AcceptFile)
	}
	if o.accept == "" {
		out.Hint = "--write-accept FILE accepts them for a time, --accept FILE reads that"
	}
	return out
}
