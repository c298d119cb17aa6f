package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"mcpc/internal/render/failure"
	"mcpc/internal/render/hint"
	"mcpc/internal/render/term"
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
func JUnit(w io.Writer, files []File) error {
	all := junitSuites{Name: "mcpc run", Failures: Count(files, Failed), Errors: Count(files, Broken)}
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

func suiteOf(f File) junitSuite {
	one := []File{f}
	s := junitSuite{Name: term.Line(f.Path), Tests: len(f.Steps), Failures: Count(one, Failed), Errors: Count(one, Broken),
		Skipped: Count(one, Skipped), Time: inSeconds(f.Took), Timestamp: f.Started.UTC().Format("2006-01-02T15:04:05"),
		Properties: []junitProperty{{"server", term.Line(f.Server)}}}
	for _, step := range f.Steps {
		s.Cases = append(s.Cases, caseOf(f.Path, step))
	}
	return s
}

func caseOf(path string, s Step) junitCase {
	c := junitCase{Name: term.Line(s.Name), ClassName: term.Line(path), Time: inSeconds(s.Took)}
	text := &junitText{Type: failure.KindName(s.Kind), Message: term.Line(s.Why)}
	if s.Kind == wire.OK {
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
	for _, lead := range s.leads(hint.Context{}) {
		if lead[1] != "" {
			lines = append(lines, term.Line(lead[0]+": "+lead[1]))
		}
	}
	text.Text = strings.Join(lines, "\n")
	switch s.State {
	case Failed:
		text.XMLName.Local, c.Failure = "failure", text
	case Broken:
		text.XMLName.Local, c.Error = "error", text
	case Skipped:
		text.XMLName.Local, c.Skipped = "skipped", &junitText{XMLName: xml.Name{Local: "skipped"}, Message: text.Message}
	}
	return c
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
