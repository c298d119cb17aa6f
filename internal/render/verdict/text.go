package verdict

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/render/term"
)

const (
	maxSubjects = 4 // shown for each rule
	indent      = 7 // of the lines below a rule
)

// colors are the colours of severities, of states of the ladder and of verdicts on hosts.
var colors = map[string]string{
	Error: term.Red, Warn: term.Yellow, Info: term.Cyan, OK: term.Green, Failed: term.Red,
	"refused": term.Red, "unclear": term.Yellow, "changed": term.Cyan,
}

// Text writes the report for a person: the summary, the ladder, and the findings by rule.
func (r *Report) Text(w io.Writer, st term.Style) error {
	t := textWriter{st: st}
	t.writeLine(0, st.Strong(st.Line(r.Summary())))
	about := []string{r.Target}
	if len(r.Revisions) > 0 {
		about = append(about, strings.Join(r.Revisions, " and "))
	}
	if r.Recording != "" {
		evidence := "evidence in " + r.Recording
		if r.Run > 0 {
			evidence += fmt.Sprintf(" (mcpc log run:%d)", r.Run)
		}
		about = append(about, evidence)
	}
	t.writeLine(0, st.Line(strings.Join(about, ", ")))
	if r.Incomplete != "" {
		t.writeLine(0, st.Strong("incomplete: "+st.Line(r.Incomplete)))
	}
	t.writeLadder(r.Ladder)
	t.writeFindings(r.Findings)
	t.writeHosts(r.Hosts)
	if len(r.Stale)+len(r.Notes) > 0 {
		t.b.WriteByte('\n')
	}
	for _, fingerprint := range r.Stale {
		t.writeLine(0, "stale in the baseline: "+st.Line(fingerprint))
	}
	for _, note := range r.Notes {
		t.writeLine(0, st.Line(note))
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// Findings writes findings by rule, each with its place and its source.
func Findings(w io.Writer, st term.Style, findings []Finding) error {
	t := textWriter{st: st, showsWhole: true}
	t.writeFindings(findings)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// textWriter collects the lines of a report.
type textWriter struct {
	st term.Style
	b  strings.Builder
	// showsWhole is true if findings of the severity Info are not shortened.
	showsWhole bool
}

// writeLine adds a sanitized line.
func (t *textWriter) writeLine(depth int, line string) {
	t.b.WriteString(strings.Repeat(" ", depth) + t.st.WrapIndented(line, depth, depth+2) + "\n")
}

func (t *textWriter) paintWord(word string, width int) string {
	return t.st.Paint(colors[word], term.Pad(word, width))
}

// writeLadder adds the steps of the ladder with their fixes.
func (t *textWriter) writeLadder(rungs []Rung) {
	if len(rungs) > 0 {
		t.b.WriteByte('\n')
	}
	for _, rung := range rungs {
		t.writeLine(0, strings.TrimRight(t.paintWord(rung.State, 12)+term.Pad(rung.Name, 9)+t.st.Line(rung.Text), " "))
		if rung.Fix != "" {
			t.writeLine(21, "fix: "+t.st.Line(rung.Fix))
		}
	}
}

// writeFindings adds findings. Neighbours of the same rule and severity share a heading.
func (t *textWriter) writeFindings(findings []Finding) {
	for len(findings) > 0 {
		n := 1
		isSameRule := func(f Finding) bool {
			return f.Rule == findings[0].Rule && f.Severity == findings[0].Severity
		}
		for n < len(findings) && isSameRule(findings[n]) {
			n++
		}
		t.writeRule(findings[:n])
		findings = findings[n:]
	}
}

// writeRule adds the findings of one rule about different subjects. Findings of the
// severity Info take two lines unless t.showsWhole.
func (t *textWriter) writeRule(findings []Finding) {
	first := findings[0]
	t.b.WriteByte('\n')
	t.writeLine(0, t.paintWord(first.Severity, indent)+t.st.Strong(first.Rule)+"  "+t.st.Line(first.Title))
	if first.Severity == Info && !t.showsWhole {
		t.writeInfo(findings)
		return
	}
	for i, f := range findings {
		if i == maxSubjects {
			t.writeLine(indent, t.st.More(len(findings)-i))
			break
		}
		t.writeFinding(f)
	}
	t.writeLine(indent, "fix    "+t.st.Line(first.Fix))
	t.writeLine(indent, "spec   "+t.st.Line(first.Source))
}

// writeInfo adds the subjects of findings of one rule and the fix, on one line.
func (t *textWriter) writeInfo(findings []Finding) {
	var subjects []string
	for _, f := range findings[:min(maxSubjects, len(findings))] {
		if !slices.Contains(subjects, f.Subject) {
			subjects = append(subjects, f.Subject)
		}
	}
	omitted := ""
	if n := len(findings) - maxSubjects; n > 0 {
		omitted = ", " + t.st.More(n)
	}
	t.writeLine(indent, t.st.Line(strings.Join(subjects, ", "))+omitted+": "+t.st.Line(findings[0].Fix))
}

// writeFinding adds a finding: its place, its evidence and how to repeat it.
func (t *textWriter) writeFinding(f Finding) {
	e := Evidence{}
	if len(f.Evidence) > 0 {
		e = f.Evidence[0]
	}
	place := f.Subject
	if e.Pointer != "" {
		place += " at " + e.Pointer
	}
	if len(f.Revisions) > 0 {
		place += " (" + strings.Join(f.Revisions, ", ") + ")"
	}
	t.writeLine(indent, t.st.Line(place))
	row := func(name, value string) {
		if value != "" {
			t.writeLine(indent+2, term.Pad(name, 5)+"  "+t.st.Line(value))
		}
	}
	row("got", e.Got)
	for line := range strings.Lines(strings.TrimSpace(e.Stderr)) {
		row("", "| "+strings.TrimRight(line, "\r\n"))
	}
	row("want", e.Want)
	if e.Exchange != "" {
		row("see", "mcpc show "+e.Exchange)
	}
	row("again", f.Repeat)
	name := "step"
	for _, line := range f.stepLines() {
		row(name, line)
		name = ""
	}
}
