package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"mcpc/internal/sanitize"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/render/term"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// reportFiles returns the reports with their writers. In JUnit, each exchange is a case; in the
// others, each verdict is a rule.
func (w *reporter) reportFiles(out wire.Outcome) cmdutil.ReportFiles {
	files := w.options.reports.files()
	for i := range files {
		file := &files[i]
		file.Write = func(to io.Writer) error {
			switch file.Flag {
			case "--junit":
				return w.buildReport(out, func(r row) string { return r.Number }).JUnit(to)
			case "--sarif":
				ruleOf := func(r row) string { return "replay-" + strings.ReplaceAll(r.Verdict, " ", "-") }
				return w.buildReport(out, ruleOf).SARIF(to, "", nil)
			}
			return w.writeMarkdown(to, out)
		}
	}
	return files
}

// verdictTexts explain the verdicts.
var verdictTexts = map[Verdict]string{
	Same:      "the answer is as recorded",
	Differs:   "the response differs from the recorded one",
	Worse:     "the request succeeded when it was recorded",
	Missing:   "the request was answered when it was recorded",
	Unmatched: "the request failed with a handle of the recording",
	Better:    "the request failed when it was recorded",
	New:       "the request was not answered when it was recorded",
	Skipped:   "the request was not sent",
	NotRun:    "the request was not sent",
}

const (
	source = "docs/replay.md"
	fix    = "record it again if the change is intended; --ignore or --match-file name what may differ"
	fixEnd = "mend the server, which answered when it was recorded; a filter leaves the request out"
)

// fixFor returns what a person can do about a verdict.
func fixFor(v Verdict) string {
	if v == Differs {
		return fix
	}
	return fixEnd
}

// buildReport returns the report for JUnit or SARIF, with a finding for each difference that fails.
// ruleOf returns the id of a row's rule: the number of the row, or a name that several rows share. out
// is the outcome of the connection.
func (w *reporter) buildReport(out wire.Outcome, ruleOf func(row) string) *verdict.Report {
	r := &verdict.Report{
		Command:   "replay",
		Version:   w.factory.Version,
		Target:    w.factory.Secrets.Text(w.target),
		Recording: w.selection.capture.Path,
	}
	if !out.OK() {
		r.Ladder = []verdict.Rung{{Name: "connection", State: verdict.Failed, Text: w.factory.Secrets.Text(out.Text)}}
	}
	seen := map[string]bool{}
	for _, row := range w.rows {
		v := Verdict(row.Verdict)
		rule := verdict.Rule{
			ID:       ruleOf(row),
			Title:    strings.TrimSpace(row.Method + " " + row.Name),
			Source:   source,
			Fix:      fixFor(v),
			Severity: verdict.Error,
			Verdict:  verdict.Pass,
		}
		if ruleOf(row) != row.Number { // the rule is the verdict, not the exchange
			rule.Title = verdictTexts[v]
		}
		if v == Skipped || v == NotRun {
			rule.Verdict = verdict.NotRun
			rule.Why = row.Why
		}
		if !seen[rule.ID] {
			r.Rules = append(r.Rules, rule)
		}
		seen[rule.ID] = true
		if v.Fails() {
			if ruleOf(row) == row.Number { // a rule of its own, which was just added
				r.Rules[len(r.Rules)-1].Why = row.headline()
			}
			r.Findings = append(r.Findings, findingsOf(row, rule.ID, verdictTexts[v])...)
		}
	}
	r.Judge()
	return r
}

// headline returns the first difference from the recording as one line.
func (r row) headline() string {
	text := r.Verdict
	if Verdict(r.Verdict) == Missing {
		text = "answer missing"
	}
	if r.Why != "" {
		return text + ": " + r.Why
	}
	if len(r.Differences) == 0 {
		return text
	}
	first := r.Differences[0]
	place := first.Pointer
	if place == "" {
		place = first.Path
	}
	text += ": " + place + ": was " + orNothing(first.Was) + ", is " + orNothing(first.Is)
	if others := len(r.Differences) - 1 + r.More; others > 0 {
		text += fmt.Sprintf("; and %d more", others)
	}
	return text
}

// findingsOf returns the findings of one exchange that fails: one for each difference, or one for the
// outcome if there is no difference. The fingerprint is the same for each replay, whatever the values.
func findingsOf(r row, rule, title string) []verdict.Finding {
	subject := strings.TrimSpace(r.Method + " " + r.Name)
	var all []verdict.Finding
	add := func(d difference) {
		sum := sha256.Sum256([]byte(strings.Join([]string{r.Verdict, subject, d.Path}, "\n")))
		all = append(all, verdict.Finding{
			Rule:        rule,
			Severity:    verdict.Error,
			Title:       title + ": " + d.Path,
			Subject:     subject,
			Source:      source,
			Fix:         fixFor(Verdict(r.Verdict)),
			Fingerprint: hex.EncodeToString(sum[:8]),
			Evidence:    []verdict.Evidence{{Exchange: r.Number, Pointer: d.Pointer, Got: d.Is, Want: d.Was}},
		})
	}
	for _, d := range r.Differences {
		add(d)
	}
	if len(all) == 0 {
		add(difference{Path: "outcome"})
	}
	if r.Why != "" {
		all[0].Title = title + ": " + r.Why
	}
	return all
}

// writeMarkdown writes the summary, and a table of the exchanges that fail, for a comment or a job
// summary. out is the outcome of the connection. Without such exchanges there is no table.
func (w *reporter) writeMarkdown(to io.Writer, out wire.Outcome) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## mcpc replay: %s\n\n%s\n", sanitize.MarkdownCode(w.factory.Secrets.Text(w.target)),
		term.Line(w.factory.Secrets.Text(w.summary())))
	if !out.OK() {
		fmt.Fprintf(&b, "\n%s\n", sanitize.MarkdownCode(w.factory.Secrets.Text(out.Text)))
	}
	head := "\n| Exchange | Verdict | Request | Path | Was | Is |\n| --- | --- | --- | --- | --- | --- |\n"
	for _, r := range w.rows {
		if !Verdict(r.Verdict).Fails() {
			continue
		}
		differences := r.Differences
		if len(differences) == 0 { // a row with the reason
			differences = []difference{{Path: r.Why}}
		}
		for _, d := range differences {
			cells := []string{r.Number, r.Verdict}
			for _, text := range []string{strings.TrimSpace(r.Method + " " + r.Name), d.Path, d.Was, d.Is} {
				cells = append(cells, sanitize.MarkdownCell(text))
			}
			b.WriteString(head + "| " + strings.Join(cells, " | ") + " |\n")
			head = ""
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
