package faulty

import (
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/proxy"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ReportRecording prints what the client did after each fault of a recording. word is the number of a
// run, "last", or a file; "" is the newest run with a fault.
func ReportRecording(ctx context.Context, f *cmdutil.Factory, word string) error {
	if word == "" {
		run, out := newestWithFaults(f)
		if !out.OK() {
			return cmdutil.Exit(out)
		}
		if run == "" {
			return usage.New("no recorded run has faults", wire.Run("log")+" lists recorded exchanges")
		}
		f.Note("the faults of run " + run)
		word = run
	}
	c, out := recorded.Open(f, word)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(f, c.Capture)
	verdicts, err := judgeFaults(c.Capture.EachFrame)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading the recording", err))
	}
	const unknownSeed = 0
	noRules := []proxy.ListedRule(nil) // the recording does not have them
	document := f.Secrets.Text(string(Document(unknownSeed, noRules, verdicts)))
	answer := cmdutil.Document([]byte(document), func(w io.Writer, st term.Style) error {
		WriteVerdicts(w, verdicts, func(text string) string { return st.Line(f.Secrets.Text(text)) })
		return nil
	})
	return cmdutil.Show(ctx, f, Outcome(verdicts), answer)
}

// newestWithFaults returns the number of the newest run with a fault; "" if no run has a fault.
func newestWithFaults(f *cmdutil.Factory) (number string, out wire.Outcome) {
	out = recorded.NewestFirst(f, func(c *rows.Capture, _ time.Time) (more bool) {
		all := c.Rows()
		hasFault := slices.ContainsFunc(all, func(r *rows.Row) bool { return r.Kinds.Has(wire.Fault) })
		if hasFault {
			number = strconv.Itoa(all[0].Run)
		}
		return !hasFault
	})
	return number, out
}

// judgeFaults returns the verdicts on the faults of all runs of a recording, sorted by time. eachFrame
// calls its argument with each frame and the index of its run.
func judgeFaults(eachFrame func(handle func(run int, f wire.Frame) error) error) ([]proxy.Verdict, error) {
	judges := map[int]*proxy.Judge{} // by run
	err := eachFrame(func(run int, f wire.Frame) error {
		if judges[run] == nil {
			judges[run] = &proxy.Judge{}
		}
		judges[run].Add(f)
		return nil
	})
	var verdicts []proxy.Verdict
	for _, judge := range judges {
		verdicts = append(verdicts, judge.Verdicts()...)
	}
	sliceutil.Sort(verdicts, func(a, b proxy.Verdict) int { return a.Time.Compare(b.Time) })
	return verdicts, err
}
