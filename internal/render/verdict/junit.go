package verdict

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"mcpc/internal/render/term"
)

// A JUnit is a report in the JUnit form that CI servers read, with these elements only: testsuites,
// testsuite, properties, testcase, and in it failure, error, skipped or system-out.
type JUnit struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr,omitempty"`
	Suites   []JUnitSuite
}

// A JUnitSuite has the test cases of one file or server. Time is in seconds, Timestamp is UTC.
type JUnitSuite struct {
	XMLName    xml.Name         `xml:"testsuite"`
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       string           `xml:"time,attr,omitempty"`
	Timestamp  string           `xml:"timestamp,attr,omitempty"`
	Properties *JUnitProperties `xml:"properties"`
	Cases      []JUnitCase
}

// JUnitProperties are the properties of a suite.
type JUnitProperties struct {
	All []JUnitProperty `xml:"property"`
}

// A JUnitProperty is a name and a value of a suite.
type JUnitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// A JUnitCase passed if it has no Failure, Error or Skipped. Out is shown with it.
type JUnitCase struct {
	XMLName xml.Name   `xml:"testcase"`
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Time    string     `xml:"time,attr,omitempty"`
	Skipped *JUnitText `xml:"skipped"`
	Error   *JUnitText `xml:"error"`
	Failure *JUnitText `xml:"failure"`
	Out     string     `xml:"system-out,omitempty"`
}

// A JUnitText says why a case did not pass.
type JUnitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Add adds a case and counts it.
func (s *JUnitSuite) Add(c JUnitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// Write counts the suites and writes the report as XML.
func (j *JUnit) Write(w io.Writer) error {
	j.Tests = 0
	j.Failures = 0
	j.Errors = 0
	for _, s := range j.Suites {
		j.Tests += s.Tests
		j.Failures += s.Failures
		j.Errors += s.Errors
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(j); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// JUnit writes a test case for each step of the ladder and each rule. A failed step, a rule with an
// error and an incomplete judgement are failures. Rules that were not run or do not apply are
// skipped. Other findings are in the output of their case.
func (r *Report) JUnit(w io.Writer) error {
	s := JUnitSuite{Name: term.Line(r.Target)}
	for _, rung := range r.Ladder {
		c := JUnitCase{Name: rung.Name, Class: s.Name}
		switch rung.State {
		case Failed:
			c.Failure = &JUnitText{Message: term.Line(rung.Text), Type: "ladder", Text: term.Line(rung.Fix)}
		case NotReached, Skipped:
			c.Skipped = &JUnitText{Message: term.Line(strings.TrimSpace(rung.State + " " + rung.Text))}
		} // OK and Warning pass
		s.Add(c)
	}
	if r.Incomplete != "" {
		s.Add(JUnitCase{
			Name: "complete", Class: s.Name,
			Failure: &JUnitText{Message: term.Line(r.Incomplete), Type: "incomplete"},
		})
	}
	for _, rule := range r.Rules {
		c := JUnitCase{Name: rule.ID + " " + term.Line(rule.Title), Class: s.Name}
		var texts []string
		for _, f := range r.Findings {
			if f.Rule == rule.ID {
				texts = append(texts, term.Block(f.plainText()))
			}
		}
		switch rule.Verdict {
		case Error:
			message := rule.Why
			if message == "" {
				message = rule.Title
			}
			c.Failure = &JUnitText{
				Message: term.Line(message),
				Type:    rule.Verdict,
				Text:    strings.Join(texts, "\n\n"),
			}
		case NotApplicable, NotRun:
			c.Skipped = &JUnitText{Message: term.Line(strings.TrimSuffix(rule.Verdict+": "+rule.Why, ": "))}
		default:
			c.Out = strings.Join(texts, "\n\n")
		}
		s.Add(c)
	}
	all := JUnit{Name: "mcpc " + r.Command, Suites: []JUnitSuite{s}}
	return all.Write(w)
}
