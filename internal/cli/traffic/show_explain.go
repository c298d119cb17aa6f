package traffic

import (
	"bytes"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/traffic"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// findingsOf returns the rules that the row broke, as far as its run shows.
func findingsOf(row *rows.Row) ([]verdict.Finding, error) {
	report, err := recorded.JudgeRow(row)
	findings := sliceutil.Map(report.Findings, recorded.VerdictFinding)
	if slices.Contains(client.Revisions(), row.Revision) {
		for i := range findings {
			findings[i].Revisions = []string{row.Revision}
		}
	}
	return findings, err
}

// explainRow writes an exchange with notes, and below it the rules that it broke. word is what the
// user calls the exchange, for the hint.
func explainRow(f *cmdutil.Factory, word string, x *wire.Exchange, findings []verdict.Finding) {
	var b bytes.Buffer
	if traffic.Explain(&b, f.OutStyle, []*wire.Exchange{x}) {
		show := f.HintText(wire.Run(strings.TrimSpace("show " + shellwords.Quote(word))))
		f.Note("long parts are left out: " + show + " shows the whole messages")
	}
	_ = verdict.Findings(&b, f.OutStyle, findings)
	_ = f.WritePaged(b.Bytes())
	if len(findings) > 0 {
		failure.Hint(f.Stderr(), f.ErrStyle, wire.Run("check --explain "+findings[0].Rule)+" explains a rule")
	}
}
