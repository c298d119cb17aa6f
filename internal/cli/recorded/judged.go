package recorded

import (
	"context"
	"errors"

	"mcpc/internal/capture/rows"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/rules"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shape"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// LintTools are what the rules need of other packages.
var LintTools = rules.Tools{
	Shape: shape.CheckBut,
	Compile: func(schema []byte) (rules.Schema, []wire.Finding, *rules.SchemaFault) {
		s, warnings, err := validate.Compile(schema)
		if failed, ok := errors.AsType[*validate.Error](err); ok {
			return nil, nil, &rules.SchemaFault{Reason: string(failed.Reason), Where: failed.Where, Text: failed.Text}
		}
		return s, warnings, nil
	},
}

// runShift is the number of bits in which a run of a capture numbers its connections.
const runShift = 24

// ConnOfRun numbers a connection so that those of several runs of a capture differ.
func ConnOfRun(run, conn int) int { return run<<runShift + conn }

// InRun is the run and the number in it of a connection that Conn numbered.
func InRun(conn int) (run, number int) { return conn >> runShift, conn & (1<<runShift - 1) }

// JudgeCapture judges a capture. What did not come is judged in runs that have their end. If the
// context ends, the report has what was found so far, and the error is the context's cause.
func JudgeCapture(ctx context.Context, c *rows.Capture) (lint.Report, error) {
	r := newReader(c, nil)
	err := r.close(ctx)
	return r.linter.Report(), err
}

// JudgeRow judges the run of a row; the findings are those about the row, the gravest first.
func JudgeRow(row *rows.Row) (lint.Report, error) {
	lines := map[int64]bool{}
	for at := range row.Lines() {
		lines[at] = true
	}
	var findings []lint.Finding
	index := map[string]int{}
	r := newReader(row.Capture(), func(at int64, f lint.Finding) {
		i, again := index[f.Fingerprint]
		switch {
		case !lines[at]:
		case !again && len(findings) < mostInRow:
			index[f.Fingerprint] = len(findings)
			findings = append(findings, f)
		case again:
			findings[i].Times++
		}
	})
	r.run = row.RunIndex()
	err := r.close(context.Background())
	report := r.linter.Report()
	report.Findings = findings
	r.linter.Sort(report.Findings)
	return report, err
}

// VerdictFinding is a finding as reports show it; the evidence names no exchange yet.
func VerdictFinding(f lint.Finding) verdict.Finding {
	out := verdict.Finding{
		Rule:        f.Rule,
		Severity:    string(f.Severity),
		Title:       f.Title,
		Subject:     f.Subject,
		Source:      f.Source,
		Fix:         f.Fix,
		Fingerprint: f.Fingerprint,
	}
	for _, e := range f.Evidence {
		_, conn := InRun(e.Conn)
		out.Evidence = append(out.Evidence, verdict.Evidence{Run: e.Run, Conn: conn, Seq: e.Seq, Pointer: e.Pointer,
			Got: e.Got, Want: e.Want, Stderr: e.Stderr})
	}
	return out
}

const (
	mostInRow   = 1000    // findings about a row
	mostEarlier = 100_000 // findings about frames that were read before
)

// A reader judges a capture, and goes on where that has grown.
type reader struct {
	frames *rows.FrameReader
	linter *lint.Linter
	// run is the only run that is judged, -1 for all.
	run int
	// found takes each finding with the place of its frame in the file; it may be nil.
	found func(at int64, f lint.Finding)
	// now is the present frame, at where it stands.
	now conv.Spot
	at  int64
	// earlier are findings about frames before the present one, whose places close finds.
	earlier map[conv.Spot][]lint.Finding
	many    int
	closed  bool
}

func newReader(c *rows.Capture, found func(at int64, f lint.Finding)) *reader {
	r := &reader{frames: c.FrameReader(), run: -1, found: found, earlier: map[conv.Spot][]lint.Finding{}}
	o := lint.Options{Tools: LintTools, Ended: func(conn int) bool {
		run, _ := InRun(conn)
		return c.RunEnded(run)
	}}
	if found != nil {
		o.Found = r.place
	}
	r.linter = lint.New(o)
	return r
}

// place hands over a finding whose place is known.
func (r *reader) place(f lint.Finding) {
	spot := spotOf(f.Evidence[0])
	if spot == r.now {
		r.found(r.at, f)
	} else if r.many < mostEarlier {
		r.earlier[spot] = append(r.earlier[spot], f)
		r.many++
	}
}

func spotOf(e lint.Evidence) conv.Spot { return conv.Spot{Conn: e.Conn, Seq: e.Seq} }

// read judges what was recorded since it was called last.
func (r *reader) read(ctx context.Context) error {
	return r.frames.Each(func(at rows.FramePlace, f wire.Frame) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.run >= 0 && at.Run != r.run {
			return nil
		}
		f.Conn = ConnOfRun(at.Run, f.Conn)
		r.now = conv.Spot{Conn: f.Conn, Seq: f.Seq}
		r.at = at.At
		r.linter.Tap(f)
		return nil
	})
}

// close judges what is left, and what only the end shows.
func (r *reader) close(ctx context.Context) error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := r.read(ctx); err != nil {
		return err
	}
	r.now = conv.Spot{}
	r.at = -1
	r.linter.Close()
	if len(r.earlier) == 0 {
		return nil
	}
	err := r.frames.Restart().Each(func(at rows.FramePlace, f wire.Frame) error {
		spot := conv.Spot{Conn: ConnOfRun(at.Run, f.Conn), Seq: f.Seq}
		for _, finding := range r.earlier[spot] {
			r.found(at.At, finding)
		}
		delete(r.earlier, spot)
		if len(r.earlier) == 0 {
			return errDone
		}
		return nil
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// errDone ends the reading of frames where no place is unknown any more.
var errDone = errors.New("done")
