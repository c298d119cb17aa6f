package verdict

import (
	"cmp"
	"encoding/xml"
	"io"
	"strings"

	"mcpc/internal/render/term"
)

// The form is that of JUnit's reports as CI servers read it: a suite for the server, and a
// test case for each rule.

type junitSuites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suite    junitSuite
}

type junitSuite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Cases    []junitCase
}

type junitCase struct {
	XMLName xml.Name   `xml:"testcase"`
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes a test case for each step of the ladder and each rule, and a failed one for a
// judgement that ended early: errors and failed steps are failures, other findings stand in the
// output of their case, and rules that were not run or do not apply are skipped.
func (r *Report) JUnit(w io.Writer) error {
	s := junitSuite{Name: term.Line(r.Target)}
	for _, rung := range r.Ladder {
		c := junitCase{Name: rung.Name, Class: s.Name}
		switch rung.State {
		case Failed:
			c.Failure = &junitText{Message: term.Line(rung.Text), Type: "ladder", Text: term.Line(rung.Fix)}
		case NotReached, Skipped:
			c.Skipped = &junitText{Message: term.Line(strings.TrimSpace(rung.State + " " + rung.Text))}
		}
		s.add(c)
	}
	if r.Incomplete != "" {
		s.add(junitCase{Name: "complete", Class: s.Name,
			Failure: &junitText{Message: term.Line(r.Incomplete), Type: "incomplete"}})
	}
	for _, rule := range r.Rules {
		c := junitCase{Name: rule.ID + " " + term.Line(rule.Title), Class: s.Name}
		var texts []string
		for _, f := range r.Findings {
			if f.Rule == rule.ID {
				texts = append(texts, term.Block(f.text()))
			}
		}
		switch rule.Verdict {
		case Error:
			c.Failure = &junitText{Message: term.Line(cmp.Or(rule.Why, rule.Title)), Type: rule.Verdict, Text: strings.Join(texts, "\n\n")}
		case NotApplicable, NotRun:
			c.Skipped = &junitText{Message: term.Line(strings.TrimSuffix(rule.Verdict+": "+rule.Why, ": "))}
		default:
			c.Out = strings.Join(texts, "\n\n")
		}
		s.add(c)
	}
	all := junitSuites{Name: "mcpc " + r.Command, Tests: s.Tests, Failures: s.Failures, Suite: s}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	if s.Tests++; c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}
