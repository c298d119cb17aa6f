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

// runShift is the number of bits for the connection numbers of a run of a capture.
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
	lines := map[int64]bool{} // the offsets of the lines of the row
	for offset := range row.Lines() {
		lines[offset] = true
	}
	var findings []lint.Finding
	index := map[string]int{} // of a finding in findings, by its fingerprint
	r := newChecker(row.Capture(), func(offset int64, f lint.Finding) {
		if !lines[offset] {
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
	report := r.linter.Report()          // for its other members: its findings are about the run
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

// allRuns is the value of captureChecker.run that selects every run of the capture.
const allRuns = -1

// A captureChecker checks the frames of a capture, and continues when the capture has grown.
type captureChecker struct {
	frames *rows.FrameReader
	linter *lint.Linter
	// run is the only run that is checked, or allRuns.
	run int
	// onFinding is called with each finding and the offset of its frame in the file; it may be nil.
	onFinding func(offset int64, f lint.Finding)
	// current is the current frame, offset its place in the file.
	current conv.Spot
	offset  int64
	// earlier holds findings about frames before the current one; close looks up their offsets.
	earlier      map[conv.Spot][]lint.Finding
	earlierCount int
	closed       bool
}

// newChecker returns a captureChecker that calls onFinding with each finding, unless it is nil.
func newChecker(c *rows.Capture, onFinding func(offset int64, f lint.Finding)) *captureChecker {
	r := &captureChecker{
		frames:    c.FrameReader(),
		run:       allRuns,
		onFinding: onFinding,
		earlier:   map[conv.Spot][]lint.Finding{},
	}
	o := lint.Options{Tools: LintTools, Ended: func(conn int) bool {
		run, _ := SplitConn(conn)
		return c.RunEnded(run)
	}}
	if onFinding != nil { // otherwise the linter's report is all that is wanted
		o.Found = r.placeFinding
	}
	r.linter = lint.New(o)
	return r
}

// placeFinding passes on a finding about the current frame, and keeps any other for close.
func (r *captureChecker) placeFinding(f lint.Finding) {
	spot := spotOf(f.Evidence[0])
	if spot == r.current {
		r.onFinding(r.offset, f)
	} else if r.earlierCount < maxEarlier {
		r.earlier[spot] = append(r.earlier[spot], f)
		r.earlierCount++
	}
}

// spotOf returns the place of the frame that is the evidence.
func spotOf(e lint.Evidence) conv.Spot { return conv.Spot{Conn: e.Conn, Seq: e.Seq} }

// read checks the frames that were recorded since the last call.
func (r *captureChecker) read(ctx context.Context) error {
	return r.frames.Each(func(place rows.FramePlace, f wire.Frame) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.run != allRuns && place.RunIndex != r.run {
			return nil
		}
		f.Conn = CombineConn(place.RunIndex, f.Conn)
		r.current = conv.Spot{Conn: f.Conn, Seq: f.Seq}
		r.offset = place.Offset
		r.linter.Tap(f)
		return nil
	})
}

// close checks the remaining frames and applies the rules about the end. Later calls do nothing.
func (r *captureChecker) close(ctx context.Context) error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := r.read(ctx); err != nil {
		return err
	}
	r.current = conv.Spot{} // the rules about the end have no current frame
	r.offset = -1
	r.linter.Close()
	if len(r.earlier) == 0 {
		return nil
	}
	// A finding may be about a frame that was read before the frame that showed it. Its offset was not
	// kept then, so the frames are read again.
	err := r.frames.Restart().Each(func(place rows.FramePlace, f wire.Frame) error {
		spot := conv.Spot{Conn: CombineConn(place.RunIndex, f.Conn), Seq: f.Seq}
		for _, finding := range r.earlier[spot] {
			r.onFinding(place.Offset, finding)
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
