// Package report writes the results of saved calls: as lines for a person, as JSON, and as a JUnit
// file. CallLine writes the result of one call of a batch.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// State is the result of a step of a saved call.
type State string

// The states. Failed: an expectation did not hold. Broken: the step could not run or be judged.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Broken  State = "error"
	Skipped State = "skipped"
)

// File has the results of the calls of one file.
type File struct {
	// Path is the file's path and Server the name of its server, both as shown to users.
	Path, Server string
	Started      time.Time
	Took         time.Duration
	Steps        []Step
}

// Step is the result of one step.
type Step struct {
	Name  string
	Line  int
	State State
	// Kind is the kind of the request's outcome.
	Kind wire.Kind
	Took time.Duration
	// Misses are the expectations that did not hold, or the errors that broke the step. Ended is
	// then the outcome with its evidence, without secrets.
	Misses []Miss
	Ended  wire.Outcome
	// Why says why a step was skipped.
	Why string
	// See is a command that shows the traffic, Hint suggests the next step.
	See, Hint wire.Hint
}

// A Miss is an expectation that did not hold, the value received instead, and its position in the
// file.
type Miss struct {
	Line, Column int
	Want, Got    string
}

// Count returns how many steps of all files are in a state.
func Count(files []File, state State) int {
	n := 0
	for _, f := range files {
		for _, s := range f.Steps {
			if s.State == state {
				n++
			}
		}
	}
	return n
}

func sumTotals(files []File) (steps int, took time.Duration) {
	for _, f := range files {
		steps = steps + len(f.Steps)
		took = took + f.Took
	}
	return steps, took
}

// WriteHead writes the line above the steps of a file.
func WriteHead(w io.Writer, st term.Style, f File) error {
	line := st.Paint(term.Bold, st.Line(f.Path))
	if f.Server != "" {
		line += "  " + st.Paint(term.Dim, st.Line(f.Server))
	}
	return term.WriteText(w, []byte(line))
}

// stepMarks are the words for the states, with their colours.
var stepMarks = map[State]struct{ word, sgr string }{
	Passed:  {"ok", term.Green},
	Failed:  {"FAIL", term.Bold + ";" + term.Red},
	Broken:  {"ERROR", term.Bold + ";" + term.Red},
	Skipped: {"skip", term.Yellow},
}

// WriteStep writes a step: a line, and below it the expectations that did not hold, the evidence
// and advice.
func WriteStep(w io.Writer, st term.Style, path string, s Step) error {
	mark := stepMarks[s.State]
	line := "  " + st.Paint(mark.sgr, fmt.Sprintf("%-5s", mark.word)) + "  " + st.Line(s.Name)
	if s.State == Skipped {
		line += "  " + st.Paint(term.Dim, "("+st.Line(s.Why)+")")
	} else if s.Took > 0 {
		line += strings.Repeat(" ", max(2, 40-term.Width(s.Name))) + st.Paint(term.Dim, term.Duration(s.Took))
	}
	var b strings.Builder
	b.WriteString(line + "\n")
	for _, m := range s.Misses {
		text := st.Line(fmt.Sprintf("%s:%d:%d: %s", path, m.Line, m.Column, m.text()))
		b.WriteString(missIndent + st.WrapIndented(text, len(missIndent), len(missIndent)+2) + "\n")
	}
	narrow := st
	narrow.Width = st.Columns() - len(missIndent)
	for line := range strings.Lines(failure.Evidence(narrow, s.Ended)) {
		b.WriteString(missIndent + line)
	}
	for _, advice := range s.advice(st.Hints) {
		if len(s.Misses) > 0 && advice.text != "" { // a step that passed needs no advice
			text := st.WrapIndented(st.Line(advice.text), len(missIndent)+len(advice.name)+2, len(missIndent)+2)
			b.WriteString(missIndent + st.Paint(term.Cyan, advice.name+":") + " " + text + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// advice returns the command that shows the traffic and the hint; either text may be "".
func (s Step) advice(c hint.Context) []namedText {
	see, _ := c.Text(s.See)
	hint, _ := c.Text(s.Hint)
	return []namedText{{"see", see}, {"hint", hint}}
}

type namedText struct{ name, text string }

// missIndent indents the lines below a step.
const missIndent = "         "

func (m Miss) text() string {
	if m.Want == "" {
		return m.Got
	}
	return "expected " + m.Want + ", got " + m.Got
}

// WriteSummary writes the last line: the number of steps in each state.
func WriteSummary(w io.Writer, st term.Style, files []File) error {
	var parts []string
	all, took := sumTotals(files)
	for _, state := range []State{Passed, Failed, Broken, Skipped} {
		if n := Count(files, state); n > 0 {
			text := fmt.Sprintf("%d %s", n, state)
			if state == Broken {
				text = english.Plural(n, "error")
			}
			parts = append(parts, st.Paint(stepMarks[state].sgr, text))
		}
	}
	return term.WriteText(w, []byte(english.Plural(all, "step")+": "+strings.Join(parts, ", ")+"; "+term.Duration(took)))
}

// JSON returns the results as one JSON document:
//
//	{"passed","failed","errors","skipped","durationNs","files":[{"file","server",
//	 "durationNs","steps":[{"name","line","state","kind","exit","durationNs",
//	 "misses":[{"line","column","expected","got"}],"error","why","see","hint"}]}]}
//
// kind is "ok" if the request succeeded. error is the failed outcome of a step. error, misses, why,
// see and hint are present only if they have a value.
func JSON(files []File) json.RawMessage {
	_, took := sumTotals(files)
	j := &jsonraw.Builder{}
	j.Number("passed", int64(Count(files, Passed)))
	j.Number("failed", int64(Count(files, Failed)))
	j.Number("errors", int64(Count(files, Broken)))
	j.Number("skipped", int64(Count(files, Skipped)))
	j.Number("durationNs", int64(took))
	j.Raw("files", jsonraw.ListOf(files, func(f File) json.RawMessage {
		file := &jsonraw.Builder{}
		file.Text("file", f.Path)
		file.Text("server", f.Server)
		file.Number("durationNs", int64(f.Took))
		file.Raw("steps", jsonraw.ListOf(f.Steps, stepJSON))
		return file.Bytes()
	}))
	return j.Bytes()
}

// stepJSON returns a step as JSON, see JSON.
func stepJSON(s Step) json.RawMessage {
	j := &jsonraw.Builder{}
	j.Text("name", s.Name)
	j.Number("line", int64(s.Line))
	j.Text("state", string(s.State))
	if s.State != Skipped {
		j.Text("kind", failure.KindName(s.Kind))
		// After a signal the exit code is 128 and the signal's number, see wire.Outcome.ExitCode.
		j.Number("exit", int64(s.Kind.ExitCode()+s.Ended.Signal))
		j.Number("durationNs", int64(s.Took))
	}
	var misses []json.RawMessage
	for _, m := range s.Misses {
		miss := &jsonraw.Builder{}
		miss.Number("line", int64(m.Line))
		miss.Number("column", int64(m.Column))
		miss.TextIfAny("expected", m.Want)
		miss.Text("got", m.Got)
		misses = append(misses, miss.Bytes())
	}
	j.ListIfAny("misses", misses)
	if !s.Ended.OK() {
		j.Raw("error", failure.JSON(term.Style{}, s.Ended))
	}
	j.TextIfAny("why", s.Why)
	for _, advice := range s.advice(hint.Context{}) {
		j.TextIfAny(advice.name, advice.text)
	}
	return j.Bytes()
}
