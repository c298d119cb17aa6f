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
	run      *fileRun
	ctx      context.Context
	step     saved.Step
	response stepResponse
	result   *report.Step
}

// judge looks at how the request ended first: what did not end as expected has
// nothing that the rest could be about.
func (j *judgement) judge() {
	e := j.step.Expect
	kind := j.response.out.Kind
	endsRight := kind == e.Kind
	if e.Exit >= 0 {
		endsRight = kind.ExitCode() == e.Exit
	}
	if !endsRight {
		j.missOutcome()
		return
	}
	j.captureVars() // first, so that what is expected can be about it
	for _, w := range e.Texts {
		j.checkText(w)
	}
	for _, w := range e.Queries {
		j.checkQuery(w)
	}
	if e.Result != nil {
		j.checkResult(e)
	}
	if e.Within > 0 && j.response.took > e.Within {
		j.addMiss(e.WithinAt, "a response within "+term.Duration(e.Within), term.Duration(j.response.took))
	}
}

// miss notes an expectation that does not hold.
func (j *judgement) addMiss(at, want, got string) {
	place := j.run.file.doc.Place(at)
	if j.result.State == report.Passed {
		j.result.State = report.Failed
	}
	j.result.Misses = append(j.result.Misses, report.Miss{Line: place.Line, Column: place.Column, Want: want, Got: got})
}

// fails notes what cannot be judged at all.
func (j *judgement) addError(at, text string) {
	j.addMiss(at, "", text)
	j.result.State = report.Broken
}

// wrongEnding says how the request ended. Where that says nothing about the server's
// response, the step could not be taken.
func (j *judgement) missOutcome() {
	e := j.step.Expect
	out := j.response.out
	want := failure.KindAndCode(wire.Outcome{Kind: e.Kind})
	if e.Exit >= 0 {
		want = fmt.Sprintf("exit code %d", e.Exit)
	}
	got := failure.KindAndCode(out)
	switch said := j.printedText(); {
	case out.Kind == wire.ToolError || out.Good():
		if said != "" {
			got += ": " + jsonraw.Excerpt([]byte(said), maxShown)
		}
	default:
		got += ": " + failure.Headline(out)
	}
	for _, f := range out.Findings {
		got += "; " + strings.TrimSpace(f.Where+" "+f.Text)
	}
	j.result.Hint = j.hintForOutcome()
	at := e.At + "/kind"
	if e.Exit >= 0 {
		at = e.At + "/exit"
	}
	j.addMiss(at, want, got)
	if unopened := !j.run.opening.Good(); unopened && e.Exit <= 0 && e.Kind == wire.OK ||
		slices.Contains(brokenKinds, out.Kind) {
		j.result.State = report.Broken
		if j.run.firstBroken.Good() {
			j.run.firstBroken = out
		}
	}
}

// unjudged are the endings that make a step an error and not a failure, unless they were
// expected: whether mcpc knew the server before changes nothing.
var brokenKinds = []wire.Kind{wire.Transport, wire.Timeout, wire.Auth, wire.Usage, wire.Signal}

// hint says what in the file would take an ending that was not expected; the traffic
// is to be seen elsewhere.
func (j *judgement) hintForOutcome() wire.Hint {
	e := j.step.Expect
	out := j.response.out
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
	if j.run.showCommand(j.response) == "" {
		return out.Hint
	}
	return ""
}

// mostGot is how many bytes of what came are shown.
const maxShown = 300

// printed is what a command would print of it: the text of a result, or what an
// error says.
func (j *judgement) printedText() string {
	out := j.response.out
	if !j.run.factory.HasAnswer(out) || j.response.answer.Human == nil {
		if e := out.RPC(); e != nil {
			return e.Message
		}
		return out.Text
	}
	var b bytes.Buffer
	if err := j.response.answer.Human(&b, term.Style{Width: 80}); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (j *judgement) checkText(w saved.Wanted) {
	want, err := saved.FillText(w.Text, j.run.lookup)
	if err != nil {
		j.addError(w.At, err.Error())
		return
	}
	if said := j.printedText(); !strings.Contains(said, want) {
		j.addMiss(w.At, fmt.Sprintf("a text with %q", want), fmt.Sprintf("%q", jsonraw.Excerpt([]byte(said), maxShown)))
	}
}

// judged is the JSON that jq looks at: the result, or where there is none the whole
// message, such as one with an error.
func (j *judgement) judgedJSON() []byte {
	out := j.response.out
	if out.Result != nil {
		return out.Result
	}
	if out.Message != nil && jsonraw.Valid(out.Message.Raw) == nil {
		return out.Message.Raw
	}
	return nil
}

// query is a jq expression with the variables that have a value by now.
func (j *judgement) compileQuery(expr string) (*jq.Program, error) {
	var all []jq.Variable
	for name, v := range j.run.vars {
		all = append(all, jq.Variable{Name: name, Value: v.JSON})
	}
	return jq.Compile(expr, all...)
}

func (j *judgement) checkQuery(w saved.Wanted) {
	raw := j.judgedJSON()
	if raw == nil {
		j.addMiss(w.At, w.Text, "no result for jq")
		return
	}
	program, err := j.compileQuery(w.Text)
	if err != nil {
		j.addError(w.At, err.Error())
		return
	}
	holds, got, err := program.Holds(j.ctx, raw)
	switch {
	case err != nil:
		j.addMiss(w.At, w.Text, j.describeError(err))
	case !holds && !program.Compares() && got != "false":
		j.addMiss(w.At, w.Text+" to give true", jsonraw.Excerpt([]byte(got), maxShown))
	case !holds:
		j.addMiss(w.At, w.Text, jsonraw.Excerpt([]byte(got), maxShown))
	}
}

// failedQuery is what came of a jq expression in the place of a value.
func (j *judgement) describeError(err error) string {
	if j.ctx.Err() != nil {
		return "it was interrupted"
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return "a jq error: " + strings.TrimPrefix(err.Error(), "error: ")
}

// capture gives variables their values, of which there must be one each.
func (j *judgement) captureVars() {
	for _, c := range j.step.Capture {
		program, err := j.compileQuery(c.Query)
		raw := j.judgedJSON()
		if err == nil && raw == nil {
			err = fmt.Errorf("there is no result to capture from")
		}
		if err != nil {
			j.addError(c.At, err.Error())
			continue
		}
		values, err := program.Values(j.ctx, raw)
		switch {
		case err != nil:
			j.addMiss(c.At, "a value of "+c.Query+" to capture as "+c.Name, j.describeError(err))
		case len(values) != 1 || string(values[0]) == "null":
			j.addMiss(c.At, "a value of "+c.Query+" to capture as "+c.Name, describeValues(values))
		default:
			j.run.vars[c.Name] = saved.Value{JSON: values[0]}
		}
	}
}

func describeValues(values []json.RawMessage) string {
	switch len(values) {
	case 0:
		return "nothing"
	case 1:
		return string(values[0])
	}
	return fmt.Sprintf("%d values", len(values))
}

// see is the command that shows the traffic of a step.
func (r *fileRun) showCommand(t stepResponse) wire.Hint {
	switch t.out.Kind {
	case wire.InvalidArguments, wire.Refused, wire.Usage:
		return ""
	}
	row := r.factory.Record.LastRow(r.factory.RecordTo, t.method)
	if row == nil {
		return ""
	}
	if r.factory.RecordTo != "" {
		return wire.Run("show " + shellwords.Quote(r.factory.RecordTo) + "#" + row.Number())
	}
	return wire.Run(fmt.Sprintf("show %d.%d", row.Run, row.Index))
}
