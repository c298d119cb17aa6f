package bench

import (
	"context"
	"encoding/json"
	"io"

	"mcpc/internal/bench"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/render/verdict"
)

// reports has a result and the options that say where it is written.
type reports struct {
	o *options
	d *bench.Document
}

// files returns the report files, with the functions that write them.
func (r reports) files() cmdutil.ReportFiles {
	files := r.o.files.reports()
	for i := range files {
		if files[i].Flag == "--junit" {
			files[i].Write = r.junitReport().JUnit
		} else {
			files[i].Write = r.d.Results[0].MainLatency().WriteHistogram
		}
	}
	return files
}

// print writes the result for people or as JSON. If a report goes to standard output, the result
// goes to standard error.
func (r reports) print(ctx context.Context, f *cmdutil.Factory) error {
	human := func(w io.Writer, st term.Style) error { return writeText(w, st, r.d) }
	if file := r.files().OnStdout(); file != nil {
		_ = human(f.Stderr(), f.ErrStyle) // the report is what counts
		return file.Print(f)
	}
	if !f.PrintsJSON() {
		return cmdutil.Print(ctx, f, cmdutil.Answer{Human: human})
	}
	raw, err := json.Marshal(r.d)
	if err != nil {
		return err
	}
	return cmdutil.Print(ctx, f, cmdutil.Document(raw, human))
}

// junitReport returns the result for JUnit, with a rule for each expectation.
func (r reports) junitReport() *verdict.Report {
	v := &verdict.Report{Command: "bench", Version: r.d.Version, Target: r.d.Results[0].Target}
	add := func(id, title, why string, isMet bool) { // why is the reason if it is not met
		rule := verdict.Rule{ID: id, Title: title, Severity: verdict.Error, Verdict: verdict.Pass}
		if !isMet {
			rule.Verdict = verdict.Error
			rule.Why = why
		}
		v.Rules = append(v.Rules, rule)
	}
	add("valid", "the generator was not the limit", r.d.Invalid, r.d.Invalid == "")
	for _, result := range r.d.Results {
		isComplete := result.EndReason == ""
		add("complete", "all planned calls were made at "+result.Target, "ended early: "+result.EndReason, isComplete)
	}
	for _, e := range r.d.Expectations {
		why := "got " + e.Got
		if e.UnknownReason != "" {
			why = e.UnknownReason
		}
		add("expect", e.Text, why, e.Met)
	}
	for _, c := range r.d.Comparison {
		add("compare", c.Metric, string(c.Verdict), c.Verdict != bench.Worse)
	}
	return v
}
