package probe

import (
	"cmp"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/client"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// runShift is the number of bits in which a run of a capture numbers its conversations.
const runShift = 24

// Conn numbers a conversation so that those of several runs of a capture differ.
func Conn(run, conn int) int { return run<<runShift + conn }

// A spot is a frame of a recording: conversations of several runs differ in conn.
type spot struct {
	conn int
	seq  uint64
}

func spotOf(e lint.Evidence) spot { return spot{e.Conn, e.Seq} }

// A Recording has the rows by which evidence is named: those of the run with index Base in
// their capture and of the runs after it. repeat makes the command that sends the request of
// a row again, and revision is that by which a probe was judged; both may be nil, and so may
// the row.
type Recording struct {
	Rows     []*capture.Row
	Base     int
	repeat   func(at spot, row *capture.Row) string
	revision func(at spot) string
}

// Fill writes what the linter found into a report.
func (rec Recording) Fill(r *verdict.Report, report lint.Report) {
	for _, j := range report.Judgements {
		r.Rules = append(r.Rules, verdict.Rule{ID: j.ID, Verdict: verdictOf(j.Verdict), Why: j.Why, Severity: string(j.Rule.Severity),
			Title: j.Rule.Title, Source: j.Rule.Page(j.Rule.To), Fix: j.Rule.Fix, Tags: j.Rule.Tags})
	}
	at := rec.locate(report.Findings)
	for _, f := range report.Findings {
		finding := verdict.Finding{Rule: f.Rule, Severity: string(f.Severity), Title: f.Title, Subject: f.Subject, Source: f.Source,
			Fix: f.Fix, Fingerprint: f.Fingerprint}
		for i, e := range f.Evidence {
			out := verdict.Evidence{Run: e.Run, Conn: e.Conn & (1<<runShift - 1), Seq: e.Seq, Pointer: e.Pointer, Got: e.Got, Want: e.Want}
			row, revision := at[spotOf(e)], ""
			if rec.revision != nil {
				revision = rec.revision(spotOf(e))
			}
			if row != nil {
				out.Exchange = row.Number()
				if row.Run == 0 {
					out.Exchange = row.Path() + "#" + row.Number()
				}
				revision = cmp.Or(revision, row.Revision)
			}
			if slices.Contains(client.Revisions(), revision) && !slices.Contains(finding.Revisions, revision) {
				finding.Revisions = append(finding.Revisions, revision)
			}
			if i == 0 && rec.repeat != nil {
				finding.Repeat = rec.repeat(spotOf(e), row)
			}
			finding.Evidence = append(finding.Evidence, out)
		}
		r.Findings = append(r.Findings, finding)
	}
}

// verdictOf names a verdict as reports do.
func verdictOf(v lint.Verdict) string {
	if v == lint.Fail {
		return string(conv.Error)
	}
	return string(v)
}

// locate finds the rows to which the evidence belongs. The recording is read once more, as
// far as something is missing.
func (rec Recording) locate(findings []lint.Finding) map[spot]*capture.Row {
	missing, found := map[spot]bool{}, map[spot]*capture.Row{}
	for _, f := range findings {
		for _, e := range f.Evidence {
			missing[spotOf(e)] = true
		}
	}
	for _, row := range rec.Rows {
		if len(missing) == 0 {
			break
		}
		_ = row.EachFrame(func(f wire.Frame) error {
			at := spot{Conn(row.RunIndex()-rec.Base, f.Conn), f.Seq}
			if missing[at] {
				delete(missing, at)
				found[at] = row
			}
			return nil
		})
	}
	return found
}
