package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// StepState is what became of a step of a saved call.
type StepState string

// The states. An expectation did not hold where a step failed; a broken one could not
// be taken or judged.
const (
	StepPassed  StepState = "passed"
	StepMissed  StepState = "failed"
	StepBroken  StepState = "error"
	StepSkipped StepState = "skipped"
)

// RunFile is what came of the calls of one file.
type RunFile struct {
	// Path is the file's, Server the name of the server it ran against, as shown to users.
	Path, Server string
	Started      time.Time
	Took         time.Duration
	Steps        []RunStep
}

// RunStep is what came of one step.
type RunStep struct {
	Name  string
	Line  int
	State StepState
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

// CountSteps is how many steps of all files are in a state.
func CountSteps(files []RunFile, state StepState) (n int) {
	for _, f := range files {
		for _, s := range f.Steps {
			if s.State == state {
				n++
			}
		}
	}
	return n
}

func totals(files []RunFile) (steps int, took time.Duration) {
	for _, f := range files {
		steps, took = steps+len(f.Steps), took+f.Took
	}
	return steps, took
}

// RunHead writes the line above the steps of a file.
func RunHead(w io.Writer, st Style, f RunFile) error {
	line := st.paint(bold, st.Line(f.Path))
	if f.Server != "" {
		line += "  " + st.paint(dim, st.Line(f.Server))
	}
	return writeText(w, []byte(line))
}

var stepMarks = map[StepState]struct{ word, sgr string }{
	StepPassed: {"ok", green}, StepMissed: {"FAIL", bold + ";" + red}, StepBroken: {"ERROR", bold + ";" + red}, StepSkipped: {"skip", yellow},
}

// RunStepLines writes what came of a step: a line, and below it each expectation
// that does not hold.
func RunStepLines(w io.Writer, st Style, path string, s RunStep) error {
	mark := stepMarks[s.State]
	line := "  " + st.paint(mark.sgr, fmt.Sprintf("%-5s", mark.word)) + "  " + st.Line(s.Name)
	switch {
	case s.State == StepSkipped:
		line += "  " + st.paint(dim, "("+st.Line(s.Why)+")")
	case s.Took > 0:
		line += strings.Repeat(" ", max(2, 40-columns(s.Name))) + st.paint(dim, Took(s.Took))
	}
	var b strings.Builder
	b.WriteString(line + "\n")
	for _, m := range s.Misses {
		text := st.Line(fmt.Sprintf("%s:%d:%d: %s", path, m.Line, m.Column, m.text()))
		b.WriteString(missIndent + st.hanging(text, len(missIndent), len(missIndent)+2) + "\n")
	}
	narrow := st
	narrow.Width = st.columns() - len(missIndent)
	for line := range strings.Lines(stepEvidence(narrow, s.Ended)) {
		b.WriteString(missIndent + line)
	}
	for _, lead := range s.leads(st.Aim) {
		if len(s.Misses) > 0 && lead[1] != "" {
			text := st.hanging(st.Line(lead[1]), len(missIndent)+len(lead[0])+2, len(missIndent)+2)
			b.WriteString(missIndent + st.paint(cyan, lead[0]+":") + " " + text + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// leads are the words that lead on, each behind what it is; either may be "".
func (s RunStep) leads(c Aim) [2][2]string {
	see, _ := c.Hint(s.See)
	hint, _ := c.Hint(s.Hint)
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

// RunSum writes the last line: how many steps, and what became of them.
func RunSum(w io.Writer, st Style, files []RunFile) error {
	var parts []string
	all, took := totals(files)
	for _, state := range []StepState{StepPassed, StepMissed, StepBroken, StepSkipped} {
		if n := CountSteps(files, state); n > 0 {
			text := fmt.Sprintf("%d %s", n, state)
			if state == StepBroken {
				text = english.Plural(n, "error")
			}
			parts = append(parts, st.paint(stepMarks[state].sgr, text))
		}
	}
	return writeText(w, []byte(english.Plural(all, "step")+": "+strings.Join(parts, ", ")+"; "+Took(took)))
}

// RunJSON is all of it as one JSON document:
//
//	{"passed","failed","errors","skipped","durationNs","files":[{"file","server",
//	 "durationNs","steps":[{"name","line","state","kind","exit","durationNs",
//	 "misses":[{"line","column","expected","got"}],"error","why","see","hint"}]}]}
//
// kind is "ok" where the request ended well. error is how a step ended
// that was missed. It, misses, why, see and hint stand only where there is something to
// say.
func RunJSON(files []RunFile) json.RawMessage {
	_, took := totals(files)
	j := &object{}
	j.number("passed", int64(CountSteps(files, StepPassed)))
	j.number("failed", int64(CountSteps(files, StepMissed)))
	j.number("errors", int64(CountSteps(files, StepBroken)))
	j.number("skipped", int64(CountSteps(files, StepSkipped)))
	j.number("durationNs", int64(took))
	j.raw("files", jsonraw.ListOf(files, runFileJSON))
	return j.bytes()
}

func runFileJSON(f RunFile) json.RawMessage {
	j := &object{}
	j.text("file", f.Path)
	j.text("server", f.Server)
	j.number("durationNs", int64(f.Took))
	j.raw("steps", jsonraw.ListOf(f.Steps, runStepJSON))
	return j.bytes()
}

func runStepJSON(s RunStep) json.RawMessage {
	j := &object{}
	j.text("name", s.Name)
	j.number("line", int64(s.Line))
	j.text("state", string(s.State))
	if s.State != StepSkipped {
		j.text("kind", kindWord(s.Kind))
		j.number("exit", int64(s.Kind.ExitCode()+s.Ended.Signal))
		j.number("durationNs", int64(s.Took))
	}
	var misses []json.RawMessage
	for _, m := range s.Misses {
		one := &object{}
		one.number("line", int64(m.Line))
		one.number("column", int64(m.Column))
		one.some("expected", m.Want)
		one.text("got", m.Got)
		misses = append(misses, one.bytes())
	}
	j.list("misses", misses)
	if !s.Ended.Good() {
		j.raw("error", errorJSON(Style{}, s.Ended))
	}
	j.some("why", s.Why)
	for _, lead := range s.leads(Aim{}) {
		j.some(lead[0], lead[1])
	}
	return j.bytes()
}

// kindWord is the name of a kind in JSON.
func kindWord(k wire.Kind) string {
	if k == wire.OK {
		return "ok"
	}
	return string(k)
}

// Ending names the kind of o and its exit code: "tool_error (exit code 5)".
func Ending(o wire.Outcome) string {
	return fmt.Sprintf("%s (exit code %d)", kindWord(o.Kind), o.ExitCode())
}

// Headline says how o ended in one line, the channel first.
func Headline(o wire.Outcome) string { return Line(headline(o)) }
