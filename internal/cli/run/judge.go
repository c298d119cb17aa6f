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

// A judgement compares the response of a step with what its file expects.
type judgement struct {
	run      *fileRun
	ctx      context.Context
	step     saved.Step
	response stepResponse
	result   *report.Step
}

// judge checks the expectations of the step and records in result which do not hold. It checks the
// outcome first: if it is not the expected one, the other expectations have nothing to check.
func (j *judgement) judge() {
	e := j.step.Expect
	kind := j.response.out.Kind
	isExpected := kind == e.Kind
	if e.Exit >= 0 { // the file has an exit code instead of a kind
		isExpected = kind.ExitCode() == e.Exit
	}
	if !isExpected {
		j.addOutcomeMiss()
		return
	}
	j.captureVars() // first, because the expectations may use the variables
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

// addMiss records an expectation that does not hold. pointer is the JSON pointer of the expectation
// in the file.
func (j *judgement) addMiss(pointer, want, got string) {
	place := j.run.file.doc.Place(pointer)
	if j.result.State == report.Passed {
		j.result.State = report.Failed
	}
	j.result.Misses = append(j.result.Misses, report.Miss{Line: place.Line, Column: place.Column, Want: want, Got: got})
}

// addError records an expectation that cannot be checked.
func (j *judgement) addError(pointer, text string) {
	j.addMiss(pointer, "", text)
	j.result.State = report.Broken
}

// addOutcomeMiss records that the outcome is not the expected one. If the outcome says nothing about
// the server's response, the step is broken.
func (j *judgement) addOutcomeMiss() {
	e := j.step.Expect
	out := j.response.out
	want := failure.KindAndCode(wire.Outcome{Kind: e.Kind})
	if e.Exit >= 0 {
		want = fmt.Sprintf("exit code %d", e.Exit)
	}
	got := failure.KindAndCode(out)
	hasResult := out.Kind == wire.ToolError || out.OK()
	if !hasResult {
		got += ": " + failure.Headline(out)
	} else if text := j.printedText(); text != "" {
		got += ": " + jsonraw.Excerpt([]byte(text), maxShown)
	}
	for _, f := range out.Findings {
		got += "; " + strings.TrimSpace(f.Pointer+" "+f.Text)
	}
	j.result.Hint = j.hintForOutcome()
	pointer := e.At + "/kind"
	if e.Exit >= 0 {
		pointer = e.At + "/exit"
	}
	j.addMiss(pointer, want, got)
	expectsSuccess := e.Exit <= 0 && e.Kind == wire.OK // Exit is below 0 if the file has no exit code
	couldNotRun := !j.run.opening.OK() && expectsSuccess
	if couldNotRun || slices.Contains(brokenKinds, out.Kind) {
		j.result.State = report.Broken
		if j.run.firstBroken.OK() {
			j.run.firstBroken = out
		}
	}
}

// brokenKinds are the outcomes that make a step an error and not a failure, unless the step expects
// them.
var brokenKinds = []wire.Kind{wire.Transport, wire.Timeout, wire.Auth, wire.Usage, wire.Signal}

// hintForOutcome returns a hint for an outcome that was not expected: what to write in the file to
// expect it or to avoid it, or else the hint of the outcome. It returns "" if the report has a
// command that shows the exchange.
func (j *judgement) hintForOutcome() wire.Hint {
	e := j.step.Expect
	out := j.response.out
	member := "" // of expect: the first that the file has
	if len(e.Queries) > 0 {
		member = "jq"
	} else if len(e.Texts) > 0 {
		member = "text"
	}
	rpc := out.RPCError()
	lacksCapability := rpc != nil && rpc.Code == missingCapability
	if lacksCapability && needsElicitation(rpc.Data) {
		return "answer: {FIELD: VALUE} in the file answers server requests, as --answer does"
	}
	expectsByDefault := e.Exit < 0 && e.Kind == wire.OK // success, which the file need not name
	if member != "" && expectsByDefault && out.Reached == wire.Answered {
		return wire.Hint(fmt.Sprintf("expect: {kind: %s, %s: ...} expects this outcome", out.Kind, member))
	}
	doNotFit := out.Kind == wire.InvalidArguments && len(out.Findings) > 0 // the tool exists
	if doNotFit && !j.step.Loose {
		return "validate: false in the step sends the call all the same"
	}
	if j.run.showCommand(j.response) == "" {
		return out.Hint
	}
	return ""
}

// missingCapability is the code of an error from a server of revision 2026-07-28 if a request needs
// a capability that the client did not declare.
const missingCapability = -32021

// needsElicitation reports whether the data of a missingCapability error names elicitation.
func needsElicitation(data json.RawMessage) bool {
	return jsonraw.First(jsonraw.First(data, "requiredCapabilities"), "elicitation") != nil
}

// maxShown is the number of bytes of a response that a report shows.
const maxShown = 300

// printedText returns what a command would print of the response: the text of a result, or the
// message of an error. If the result cannot be printed, it returns the reason.
func (j *judgement) printedText() string {
	out := j.response.out
	if !j.run.factory.HasAnswer(out) || j.response.answer.Human == nil {
		if e := out.RPCError(); e != nil {
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

// checkText checks that the printed response contains a text.
func (j *judgement) checkText(w saved.Wanted) {
	want, err := saved.FillText(w.Text, j.run.lookup)
	if err != nil {
		j.addError(w.At, err.Error())
		return
	}
	if text := j.printedText(); !strings.Contains(text, want) {
		j.addMiss(w.At, fmt.Sprintf("a text with %q", want), fmt.Sprintf("%q", jsonraw.Excerpt([]byte(text), maxShown)))
	}
}

// queryInput returns the input of jq: the result, or the whole message if it has no result, or nil.
func (j *judgement) queryInput() []byte {
	out := j.response.out
	if out.Result != nil {
		return out.Result
	}
	if out.Message != nil && jsonraw.Valid(out.Message.Raw) == nil {
		return out.Message.Raw
	}
	return nil
}

// compileQuery compiles a jq expression with the variables that have a value by now.
func (j *judgement) compileQuery(expr string) (*jq.Program, error) {
	var variables []jq.Variable
	for name, v := range j.run.vars {
		variables = append(variables, jq.Variable{Name: name, Value: v.JSON})
	}
	return jq.Compile(expr, variables...)
}

// checkQuery checks that a jq expression is true for the response. An invalid expression is an
// error, an expression that fails is a miss.
func (j *judgement) checkQuery(w saved.Wanted) {
	raw := j.queryInput()
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
	if err != nil {
		j.addMiss(w.At, w.Text, j.describeError(err))
		return
	}
	if holds {
		return
	}
	want := w.Text
	if !program.Compares() && got != "false" { // the expression may not be meant as a condition
		want += " to give true"
	}
	j.addMiss(w.At, want, jsonraw.Excerpt([]byte(got), maxShown))
}

// describeError returns the text in a report about a jq expression that failed.
func (j *judgement) describeError(err error) string {
	if j.ctx.Err() != nil {
		return "it was interrupted"
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return "a jq error: " + strings.TrimPrefix(err.Error(), "error: ")
}

// captureVars evaluates the capture expressions of the step, and sets the variables. Each must give
// exactly one value other than null.
func (j *judgement) captureVars() {
	for _, c := range j.step.Capture {
		program, err := j.compileQuery(c.Query)
		raw := j.queryInput()
		if err == nil && raw == nil {
			err = fmt.Errorf("there is no result to capture from")
		}
		if err != nil {
			j.addError(c.At, err.Error())
			continue
		}
		values, err := program.Values(j.ctx, raw)
		if err != nil {
			j.addMiss(c.At, "a value of "+c.Query+" to capture as "+c.Name, j.describeError(err))
		} else if len(values) != 1 || string(values[0]) == "null" {
			j.addMiss(c.At, "a value of "+c.Query+" to capture as "+c.Name, describeValues(values))
		} else {
			j.run.vars[c.Name] = saved.Value{JSON: values[0]}
		}
	}
}

// describeValues returns the values of a jq expression for a report that expected one value.
func describeValues(values []json.RawMessage) string {
	switch len(values) {
	case 0:
		return "nothing"
	case 1:
		return string(values[0])
	}
	return fmt.Sprintf("%d values", len(values))
}

// showCommand returns the command that shows the exchange of a step, "" if nothing was sent.
func (r *fileRun) showCommand(t stepResponse) wire.Hint {
	switch t.out.Kind {
	case wire.InvalidArguments, wire.Refused, wire.Usage: // the last row is of an earlier request
		return ""
	}
	row := r.factory.Record.LastRow(r.factory.RecordTo, t.method, t.out.ID)
	if row == nil {
		return ""
	}
	if r.factory.RecordTo != "" {
		return wire.Run("show " + shellwords.Quote(r.factory.RecordTo) + "#" + row.Number())
	}
	return wire.Run(fmt.Sprintf("show %d.%d", row.Run, row.Index))
}
