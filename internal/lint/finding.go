package lint

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
)

// A Finding is a violation of a rule by one subject, at one place in it, with the
// messages in which it was seen.
type Finding struct {
	Rule     string        `json:"rule"`
	Severity conv.Severity `json:"severity"`
	Title    string        `json:"title"`
	Evidence []Evidence    `json:"evidence"`
	Source   string        `json:"source"`
	Fix      string        `json:"fix"`
	// Fingerprint is rule, subject and pointer: the same in every run, at whichever
	// place of its list the subject is.
	Fingerprint string `json:"fingerprint"`
	// Subject is the tool, resource, method or stream that broke the rule, as in "tool
	// get-sum".
	Subject string `json:"-"`
	// Times counts the messages, of which Evidence has the first ones.
	Times int `json:"-"`

	// Revision is the one that the conversation agreed on after the finding, else "".
	Revision string `json:"-"`

	// before is the conversation of a finding from before its revision was known, else nil.
	before *conv.Conversation
}

// dated returns the finding with the page of the revision that its conversation agreed on afterwards.
func (f Finding) dated(r *Rule) Finding {
	if f.before != nil && f.before.Session != conv.Unknown {
		f.Source = r.Page(f.before.Session)
		f.Revision = f.before.Session.String()
	}
	f.before = nil
	return f
}

// Evidence is where a rule was broken: a frame of a run, a JSON pointer into it, what
// was found there and what should have come.
type Evidence struct {
	Run     string `json:"run,omitempty"`
	Conn    int    `json:"conn,omitempty"`
	Seq     uint64 `json:"seq"`
	Pointer string `json:"pointer,omitempty"`
	Got     string `json:"got,omitempty"`
	Want    string `json:"want,omitempty"`
	// Stderr is the end of what a server wrote to standard error before it exited there.
	Stderr string `json:"stderr,omitempty"`
}

const (
	mostEvidence = 5    // of a finding
	mostFindings = 1000 // of a rule
	mostBytes    = 200  // of what is quoted
)

// found is what a rule has found.
type found struct {
	findings []*Finding
	by       map[string]*Finding
}

// add notes a hit, which it gives as a finding; hits with the same fingerprint are one
// finding, of the worst severity.
func (f *found) add(r *Rule, run string, e *conv.Event, h conv.Hit) Finding {
	severity := cmp.Or(h.Severity, r.Severity)
	spot := e.Spot()
	if h.Spot.Seq != 0 {
		spot = h.Spot
	}
	at := e.At + h.Item + h.Pointer
	if h.Root {
		at = h.Pointer
	}
	subject := cmp.Or(h.Subject, e.Subject, e.Method)
	mark := strings.TrimSpace(r.ID+" "+subject) + " " + h.Pointer
	here := Finding{
		Rule:        r.ID,
		Severity:    severity,
		Title:       r.Title,
		Source:      r.Page(e.Rev),
		Fix:         r.Fix,
		Subject:     subject,
		Times:       1,
		Fingerprint: strings.TrimSpace(cut(mark)),
		Evidence: []Evidence{{Run: run, Conn: spot.Conn, Seq: spot.Seq, Pointer: at,
			Got: cut(h.Got), Want: cut(h.Want)}},
	}
	if e.Rev == conv.Unknown {
		here.before = e.Conversation
	}
	one := f.by[mark]
	if one == nil && len(f.findings) >= mostFindings {
		return here
	}
	if one == nil {
		if f.by == nil {
			f.by = map[string]*Finding{}
		}
		first := here
		first.Evidence = slices.Clone(here.Evidence)
		f.by[mark] = &first
		f.findings = append(f.findings, &first)
		return here
	}
	if weight(severity) > weight(one.Severity) {
		one.Severity = severity
	}
	one.Times++
	if len(one.Evidence) < mostEvidence {
		one.Evidence = append(one.Evidence, here.Evidence...)
	}
	return here
}

func cut(text string) string { return jsonraw.Excerpt([]byte(text), mostBytes) }

func weight(s conv.Severity) int {
	switch s {
	case conv.Error:
		return 3
	case conv.Warn:
		return 2
	}
	return 1
}
