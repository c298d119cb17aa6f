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

// LintTools are the functions of other packages that the rules call.
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

// CombineConn returns a connection number that is unique among the runs of a capture.
func CombineConn(run, conn int) int { return run<<runShift + conn }

// SplitConn returns the run and the connection number of a number made by CombineConn.
func SplitConn(conn int) (run, number int) { return conn >> runShift, conn & (1<<runShift - 1) }

// JudgeCapture checks a capture with all rules. Rules about missing messages apply to ended runs
// only. If ctx ends, the report has the findings so far, and the error is the context's cause.
func JudgeCapture(ctx context.Context, c *rows.Capture) (lint.Report, error) {
	r := newChecker(c, nil)
	err := r.close(ctx)
	return r.linter.Report(), err
}

// JudgeRow checks the run of a row and returns the findings about the row, the most severe first.
func JudgeRow(row *rows.Row) (lint.Report, error) {
	lines := map[int64]bool{}
	for at := range row.Lines() {
		lines[at] = true
	}
	var findings []lint.Finding
	index := map[string]int{}
	r := newChecker(row.Capture(), func(at int64, f lint.Finding) {
		if !lines[at] {
			return
		}
		i, known := index[f.Fingerprint]
		if known {
			findings[i].Times++
		} else if len(findings) < maxFindings {
			index[f.Fingerprint] = len(findings)
			findings = append(findings, f)
		}
	})
	r.run = row.RunIndex()
	err := r.close(context.Background()) // reads the whole run
	report := r.linter.Report()
	report.Findings = findings
	r.linter.Sort(report.Findings)
	return report, err
}

// VerdictFinding converts a finding for reports. Its evidence names no exchange yet.
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
		_, conn := SplitConn(e.Conn)
		out.Evidence = append(out.Evidence, verdict.Evidence{
			Run: e.Run, Conn: conn, Seq: e.Seq, Pointer: e.Pointer,
			Got: e.Got, Want: e.Want, Stderr: e.Stderr,
		})
	}
	return out
}

const (
	maxFindings = 1000    // findings about a row
	maxEarlier  = 100_000 // findings about frames that were read before
)

// A reader checks a capture, and continues when the capture has grown.
type reader struct {
	frames *rows.FrameReader
	linter *lint.Linter
	// run is the only run that is checked; -1 means all runs.
	run int
	// onFinding is called with each finding and the offset of its frame in the file; it may be nil.
	onFinding func(at int64, f lint.Finding)
	// current is the current frame, offset its place in the file.
	current conv.Spot
	offset  int64
	// earlier holds findings about frames before the current one; close looks up their offsets.
	earlier      map[conv.Spot][]lint.Finding
	earlierCount int
	closed       bool
}

func newChecker(c *rows.Capture, found func(at int64, f lint.Finding)) *reader {
	r := &reader{frames: c.FrameReader(), run: -1, onFinding: found, earlier: map[conv.Spot][]lint.Finding{}}
	o := lint.Options{Tools: LintTools, Ended: func(conn int) bool {
		run, _ := SplitConn(conn)
		return c.RunEnded(run)
	}}
	if found != nil {
		o.Found = r.placeFinding
	}
	r.linter = lint.New(o)
	return r
}

// placeFinding passes on a finding about the current frame, and keeps any other for close.
func (r *reader) placeFinding(f lint.Finding) {
	spot := spotOf(f.Evidence[0])
	if spot == r.current {
		r.onFinding(r.offset, f)
	} else if r.earlierCount < maxEarlier {
		r.earlier[spot] = append(r.earlier[spot], f)
		r.earlierCount++
	}
}

func spotOf(e lint.Evidence) conv.Spot { return conv.Spot{Conn: e.Conn, Seq: e.Seq} }

// read checks the frames that were recorded since the last call.
func (r *reader) read(ctx context.Context) error {
	return r.frames.Each(func(at rows.FramePlace, f wire.Frame) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.run >= 0 && at.RunIndex != r.run {
			return nil
		}
		f.Conn = CombineConn(at.RunIndex, f.Conn)
		r.current = conv.Spot{Conn: f.Conn, Seq: f.Seq}
		r.offset = at.Offset
		r.linter.Tap(f)
		return nil
	})
}

// close checks the remaining frames and applies the rules about the end. Later calls do nothing.
func (r *reader) close(ctx context.Context) error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := r.read(ctx); err != nil {
		return err
	}
	r.current = conv.Spot{}
	r.offset = -1
	r.linter.Close()
	if len(r.earlier) == 0 {
		return nil
	}
	err := r.frames.Restart().Each(func(at rows.FramePlace, f wire.Frame) error {
		spot := conv.Spot{Conn: CombineConn(at.RunIndex, f.Conn), Seq: f.Seq}
		for _, finding := range r.earlier[spot] {
			r.onFinding(at.Offset, finding)
		}
		delete(r.earlier, spot)
		if len(r.earlier) == 0 {
			return errAllFound
		}
		return nil
	})
	if errors.Is(err, errAllFound) {
		return nil
	}
	return err
}

// errAllFound stops reading once all offsets are known.
var errAllFound = errors.New("done")
