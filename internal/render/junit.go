package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpc/internal/wire"
)

// The form is that of JUnit's reports as CI servers read it, with these elements only:
// testsuites, testsuite, properties, testcase, and in it failure, error or skipped.

type junitSuites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []junitSuite
}

type junitSuite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	XMLName   xml.Name `xml:"testcase"`
	Name      string   `xml:"name,attr"`
	ClassName string   `xml:"classname,attr"`
	Time      string   `xml:"time,attr"`
	Skipped   *junitText
	Error     *junitText
	Failure   *junitText
}

type junitText struct {
	XMLName xml.Name
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes what came of saved calls as a report in XML. Characters that XML
// cannot carry, and such as hide, are made visible.
func JUnit(w io.Writer, files []RunFile) error {
	all := junitSuites{Name: "mcpc run", Failures: CountSteps(files, StepMissed), Errors: CountSteps(files, StepBroken)}
	steps, took := totals(files)
	all.Tests, all.Time = steps, inSeconds(took)
	for _, f := range files {
		all.Suites = append(all.Suites, suiteOf(f))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suiteOf(f RunFile) junitSuite {
	one := []RunFile{f}
	s := junitSuite{Name: Line(f.Path), Tests: len(f.Steps), Failures: CountSteps(one, StepMissed), Errors: CountSteps(one, StepBroken),
		Skipped: CountSteps(one, StepSkipped), Time: inSeconds(f.Took), Timestamp: f.Started.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{{"server", Line(f.Server)}}}
	for _, step := range f.Steps {
		s.Cases = append(s.Cases, caseOf(f.Path, step))
	}
	return s
}

func caseOf(path string, s RunStep) junitCase {
	c := junitCase{Name: Line(s.Name), ClassName: Line(path), Time: inSeconds(s.Took)}
	text := &junitText{Type: kindWord(s.Kind), Message: Line(s.Why)}
	if s.Kind == wire.OK {
		text.Type = "expectation"
	}
	var lines []string
	for i, m := range s.Misses {
		if i == 0 {
			text.Message = Line(m.text())
		}
		lines = append(lines, Line(fmt.Sprintf("%s:%d:%d: %s", path, m.Line, m.Column, m.text())))
	}
	if evidence := stepEvidence(Style{}, s.Ended); evidence != "" {
		lines = append(lines, strings.TrimSuffix(evidence, "\n"))
	}
	for _, lead := range s.leads(Aim{}) {
		if lead[1] != "" {
			lines = append(lines, Line(lead[0]+": "+lead[1]))
		}
	}
	text.Text = strings.Join(lines, "\n")
	switch s.State {
	case StepMissed:
		text.XMLName.Local, c.Failure = "failure", text
	case StepBroken:
		text.XMLName.Local, c.Error = "error", text
	case StepSkipped:
		text.XMLName.Local, c.Skipped = "skipped", &junitText{XMLName: xml.Name{Local: "skipped"}, Message: text.Message}
	}
	return c
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
