package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"mcpc/internal/render/failure"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// JUnit writes the results of saved calls as a JUnit report in XML. It makes characters visible
// that XML does not allow or that are hidden.
func JUnit(w io.Writer, files []File) error {
	_, took := sumTotals(files)
	report := verdict.JUnit{Name: "mcpc run", Time: formatSeconds(took)}
	for _, f := range files {
		suite := verdict.JUnitSuite{
			Name:      term.Line(f.Path),
			Time:      formatSeconds(f.Took),
			Timestamp: f.Started.UTC().Format("2006-01-02T15:04:05"),
		}
		server := verdict.JUnitProperty{Name: "server", Value: term.Line(f.Server)}
		suite.Properties = &verdict.JUnitProperties{All: []verdict.JUnitProperty{server}}
		for _, step := range f.Steps {
			suite.Add(junitCase(f.Path, step))
		}
		report.Suites = append(report.Suites, suite)
	}
	return report.Write(w)
}

// junitCase returns a step as a test case. A step that did not pass has a text: a short message, and the
// misses, the evidence and the advice as its lines.
func junitCase(path string, s Step) verdict.JUnitCase {
	c := verdict.JUnitCase{Name: term.Line(s.Name), Class: term.Line(path), Time: formatSeconds(s.Took)}
	text := &verdict.JUnitText{Type: failure.KindName(s.Kind), Message: term.Line(s.Why)}
	if s.Kind == wire.OK { // the request succeeded, but an expectation did not hold
		text.Type = "expectation"
	}
	var lines []string
	for i, m := range s.Misses {
		if i == 0 {
			text.Message = term.Line(m.text())
		}
		lines = append(lines, term.Line(fmt.Sprintf("%s:%d:%d: %s", path, m.Line, m.Column, m.text())))
	}
	if evidence := failure.Evidence(term.Style{}, s.Ended); evidence != "" {
		lines = append(lines, strings.TrimSuffix(evidence, "\n"))
	}
	for _, advice := range s.advice(hint.Context{}) {
		if advice.text != "" {
			lines = append(lines, term.Line(advice.name+": "+advice.text))
		}
	}
	text.Text = strings.Join(lines, "\n")
	switch s.State {
	case Failed:
		c.Failure = text
	case Broken:
		c.Error = text
	case Skipped:
		c.Skipped = &verdict.JUnitText{Message: text.Message}
	}
	return c
}

// formatSeconds returns a duration in seconds, as JUnit writes it.
func formatSeconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
