// Package report writes how the steps of saved calls ended: as lines for a person, as
// JSON, and as a JUnit file. CallLine does the same for one call of a batch.
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

// State is what became of a step of a saved call.
type State string

// The states. An expectation did not hold where a step failed; a broken one could not
// be taken or judged.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Broken  State = "error"
	Skipped State = "skipped"
)

// File is what came of the calls of one file.
type File struct {
	// Path is the file's, Server the name of the server it ran against, as shown to users.
	Path, Server string
	Started      time.Time
	Took         time.Duration
	Steps        []Step
}

// Step is what came of one step.
type Step struct {
	Name  string
	Line  int
	State State
	// Kind is how the request ended.
	Kind wire.Kind
	Took time.Duration
	// Misses are the expectations that do not hold, or what broke the step, and Ended
	// is then the ending with its evidence, without secrets.
	Misses []Miss
	Ended  wire.Outcome
	// Why says why a step was skipped.
	Why string
	// See is a command that shows the traffic, and Hint what could be done.
	See, Hint wire.Hint
}

// A Miss is an expectation, what came in its place, and where in the file it stands.
type Miss struct {
	Line, Column int
	Want, Got    string
}

// Count is how many steps of all files are in a state.
func Count(files []File, state State) (n int) {
	for _, f := range files {
		for _, s := range f.Steps {
			if s.State == state {
				n++
			}
		}
	}
	return n
}

func totals(files []File) (steps int, took time.Duration) {
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

var stepMarks = map[State]struct{ word, sgr string }{
	Passed: {
		"ok",
		term.Green,
	}, Failed: {"FAIL", term.Bold + ";" + term.Red}, Broken: {"ERROR", term.Bold + ";" + term.Red}, Skipped: {"skip", term.Yellow},
}

// WriteStep writes what came of a step: a line, and below it each expectation
// that does not hold.
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
	for _, lead := range s.advice(st.Hints) {
		if len(s.Misses) > 0 && lead[1] != "" {
			text := st.WrapIndented(st.Line(lead[1]), len(missIndent)+len(lead[0])+2, len(missIndent)+2)
			b.WriteString(missIndent + st.Paint(term.Cyan, lead[0]+":") + " " + text + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leads are the words that lead on, each behind what it is; either may be "".
func (s Step) advice(c hint.Context) [2][2]string {
	see, _ := c.Text(s.See)
	hint, _ := c.Text(s.Hint)
	return [2][2]string{{"see", see}, {"hint", hint}}
}

// missIndent stands before what belongs to a step.
const missIndent = "         "

func (m Miss) text() string {
	if m.Want == "" {
		return m.Got
	}
	return "expected " + m.Want + ", got " + m.Got
}

// WriteSummary writes the last line: how many steps, and what became of them.
func WriteSummary(w io.Writer, st term.Style, files []File) error {
	var parts []string
	all, took := totals(files)
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

// JSON is all of it as one JSON document:
//
//	{"passed","failed","errors","skipped","durationNs","files":[{"file","server",
//	 "durationNs","steps":[{"name","line","state","kind","exit","durationNs",
//	 "misses":[{"line","column","expected","got"}],"error","why","see","hint"}]}]}
//
// kind is "ok" where the request ended well. error is how a step ended
// that was missed. It, misses, why, see and hint stand only where there is something to
// say.
func JSON(files []File) json.RawMessage {
	_, took := totals(files)
	j := &jsonraw.Builder{}
	j.Number("passed", int64(Count(files, Passed)))
	j.Number("failed", int64(Count(files, Failed)))
	j.Number("errors", int64(Count(files, Broken)))
	j.Number("skipped", int64(Count(files, Skipped)))
	j.Number("durationNs", int64(took))
	j.Raw("files", jsonraw.ListOf(files, func(f File) json.RawMessage {
		j := &jsonraw.Builder{}
		j.Text("file", f.Path)
		j.Text("server", f.Server)
		j.Number("durationNs", int64(f.Took))
		j.Raw("steps", jsonraw.ListOf(f.Steps, stepJSON))
		return j.Bytes()
	}))
	return j.Bytes()
}

func stepJSON(s Step) json.RawMessage {
	j := &jsonraw.Builder{}
	j.Text("name", s.Name)
	j.Number("line", int64(s.Line))
	j.Text("state", string(s.State))
	if s.State != Skipped {
		j.Text("kind", failure.KindName(s.Kind))
		j.Number("exit", int64(s.Kind.ExitCode()+s.Ended.Signal))
		j.Number("durationNs", int64(s.Took))
	}
	var misses []json.RawMessage
	for _, m := range s.Misses {
		one := &jsonraw.Builder{}
		one.Number("line", int64(m.Line))
		one.Number("column", int64(m.Column))
		one.TextIfAny("expected", m.Want)
		one.Text("got", m.Got)
		misses = append(misses, one.Bytes())
	}
	j.ListIfAny("misses", misses)
	if !s.Ended.Good() {
		j.Raw("error", failure.JSON(term.Style{}, s.Ended))
	}
	j.TextIfAny("why", s.Why)
	for _, lead := range s.advice(hint.Context{}) {
		j.TextIfAny(lead[0], lead[1])
	}
	return j.Bytes()
}
