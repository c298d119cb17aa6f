package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/jq"
	"mcpc/internal/render/report"
	"mcpc/internal/render/term"
	"mcpc/internal/saved"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A judgement holds what came of a step against what its file expects.
type judgement struct {
	run    *fileRun
	ctx    context.Context
	step   saved.Step
	taken  taken
	result *report.Step
}

// judge looks at how the request ended first: what did not end as expected has
// nothing that the rest could be about.
func (j *judgement) judge() {
	e := j.step.Expect
	kind := j.taken.out.Kind
	endsRight := kind == e.Kind
	if e.Exit >= 0 {
		endsRight = kind.ExitCode() == e.Exit
	}
	if !endsRight {
		j.wrongEnding()
		return
	}
	j.capture() // first, so that what is expected can be about it
	for _, w := range e.Texts {
		j.holdsText(w)
	}
	for _, w := range e.Queries {
		j.holdsQuery(w)
	}
	if e.Result != nil {
		j.holdsResult(e)
	}
	if e.Within > 0 && j.taken.took > e.Within {
		j.miss(e.WithinAt, "a response within "+term.Duration(e.Within), term.Duration(j.taken.took))
	}
}

// miss notes an expectation that does not hold.
func (j *judgement) miss(at, want, got string) {
	place := j.run.f.doc.Place(at)
	if j.result.State == report.Passed {
		j.result.State = report.Failed
	}
	j.result.Misses = append(j.result.Misses, report.Miss{Line: place.Line, Column: place.Column, Want: want, Got: got})
}

// fails notes what cannot be judged at all.
func (j *judgement) fails(at, text string) {
	j.miss(at, "", text)
	j.result.State = report.Broken
}

// wrongEnding says how the request ended. Where that says nothing about the server's
// response, the step could not be taken.
func (j *judgement) wrongEnding() {
	e := j.step.Expect
	out := j.taken.out
	want := failure.KindAndCode(wire.Outcome{Kind: e.Kind})
	if e.Exit >= 0 {
		want = fmt.Sprintf("exit code %d", e.Exit)
	}
	got := failure.KindAndCode(out)
	switch said := j.printed(); {
	case out.Kind == wire.ToolError || out.Good():
		if said != "" {
			got += ": " + jsonraw.Excerpt([]byte(said), mostGot)
		}
	default:
		got += ": " + failure.Headline(out)
	}
	for _, f := range out.Findings {
		got += "; " + strings.TrimSpace(f.Where+" "+f.Text)
	}
	j.result.Hint = j.hint()
	at := e.At + "/kind"
	if e.Exit >= 0 {
		at = e.At + "/exit"
	}
	j.miss(at, want, got)
	if unopened := !j.run.opening.Good(); unopened && e.Exit <= 0 && e.Kind == wire.OK ||
		slices.Contains(unjudged, out.Kind) {
		j.result.State = report.Broken
		if j.run.broken.Good() {
			j.run.broken = out
		}
	}
}

// unjudged are the endings that make a step an error and not a failure, unless they were
// expected: whether mcpc knew the server before changes nothing.
var unjudged = []wire.Kind{wire.Transport, wire.Timeout, wire.Auth, wire.Usage, wire.Signal}

// hint says what in the file would take an ending that was not expected; the traffic
// is to be seen elsewhere.
func (j *judgement) hint() wire.Hint {
	e := j.step.Expect
	out := j.taken.out
	about := ""
	if len(e.Queries) > 0 {
		about = "jq"
	} else if len(e.Texts) > 0 {
		about = "text"
	}
	rpc := out.RPC()
	if rpc != nil && rpc.Code == -32021 &&
		jsonraw.First(jsonraw.First(rpc.Data, "requiredCapabilities"), "elicitation") != nil {
		return "answer: {FIELD: VALUE} in the file answers server requests, as --answer does"
	}
	if about != "" && e.Exit < 0 && e.Kind == wire.OK && out.Reached == wire.Answered {
		return wire.Hint(fmt.Sprintf("expect: {kind: %s, %s: ...} expects this outcome", out.Kind, about))
	}
	if j.run.see(j.taken) == "" {
		return out.Hint
	}
	return ""
}

// mostGot is how many bytes of what came are shown.
const mostGot = 300

// printed is what a command would print of it: the text of a result, or what an
// error says.
func (j *judgement) printed() string {
	out := j.taken.out
	if !j.run.a.HasAnswer(out) || j.taken.answer.Human == nil {
		if e := out.RPC(); e != nil {
			return e.Message
		}
		return out.Text
	}
	var b bytes.Buffer
	if err := j.taken.answer.Human(&b, term.Style{Width: 80}); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (j *judgement) holdsText(w saved.Wanted) {
	want, err := saved.FillText(w.Text, j.run.lookup)
	if err != nil {
		j.fails(w.At, err.Error())
		return
	}
	if said := j.printed(); !strings.Contains(said, want) {
		j.miss(w.At, fmt.Sprintf("a text with %q", want), fmt.Sprintf("%q", jsonraw.Excerpt([]byte(said), mostGot)))
	}
}

// judged is the JSON that jq looks at: the result, or where there is none the whole
// message, such as one with an error.
func (j *judgement) judged() []byte {
	out := j.taken.out
	if out.Result != nil {
		return out.Result
	}
	if out.Message != nil && jsonraw.Valid(out.Message.Raw) == nil {
		return out.Message.Raw
	}
	return nil
}

// query is a jq expression with the variables that have a value by now.
func (j *judgement) query(expr string) (*jq.Program, error) {
	var all []jq.Variable
	for name, v := range j.run.vars {
		all = append(all, jq.Variable{Name: name, Value: v.JSON})
	}
	return jq.Compile(expr, all...)
}

func (j *judgement) holdsQuery(w saved.Wanted) {
	raw := j.judged()
	if raw == nil {
		j.miss(w.At, w.Text, "no result for jq")
		return
	}
	program, err := j.query(w.Text)
	if err != nil {
		j.fails(w.At, err.Error())
		return
	}
	holds, got, err := program.Holds(j.ctx, raw)
	switch {
	case err != nil:
		j.miss(w.At, w.Text, j.failedQuery(err))
	case !holds && !program.Compares() && got != "false":
		j.miss(w.At, w.Text+" to give true", jsonraw.Excerpt([]byte(got), mostGot))
	case !holds:
		j.miss(w.At, w.Text, jsonraw.Excerpt([]byte(got), mostGot))
	}
}

// failedQuery is what came of a jq expression in the place of a value.
func (j *judgement) failedQuery(err error) string {
	if j.ctx.Err() != nil {
		return "it was interrupted"
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return "a jq error: " + strings.TrimPrefix(err.Error(), "error: ")
}

// capture gives variables their values, of which there must be one each.
func (j *judgement) capture() {
	for _, c := range j.step.Capture {
		program, err := j.query(c.Query)
		raw := j.judged()
		if err == nil && raw == nil {
			err = fmt.Errorf("there is no result to capture from")
		}
		if err != nil {
			j.fails(c.At, err.Error())
			continue
		}
		values, err := program.Values(j.ctx, raw)
		switch {
		case err != nil:
			j.miss(c.At, "a value of "+c.Query+" to capture as "+c.Name, j.failedQuery(err))
		case len(values) != 1 || string(values[0]) == "null":
			j.miss(c.At, "a value of "+c.Query+" to capture as "+c.Name, shownValues(values))
		default:
			j.run.vars[c.Name] = saved.Value{JSON: values[0]}
		}
	}
}

func shownValues(values []json.RawMessage) string {
	switch len(values) {
	case 0:
		return "nothing"
	case 1:
		return string(values[0])
	}
	return fmt.Sprintf("%d values", len(values))
}

// see is the command that shows the traffic of a step.
func (r *fileRun) see(t taken) wire.Hint {
	switch t.out.Kind {
	case wire.InvalidArguments, wire.Refused, wire.Usage:
		return ""
	}
	row := r.a.Record.LastRow(r.a.RecordTo, t.method)
	if row == nil {
		return ""
	}
	if r.a.RecordTo != "" {
		return wire.Run("show " + shellwords.Quote(r.a.RecordTo) + "#" + row.Number())
	}
	return wire.Run(fmt.Sprintf("show %d.%d", row.Run, row.Index))
}
