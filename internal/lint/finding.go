package lint

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint/conv"
)

// A Finding is the violation of a rule by one subject at one place, with the messages that show it.
type Finding struct {
	Rule     string        `json:"rule"`
	Severity conv.Severity `json:"severity"`
	Title    string        `json:"title"`
	Evidence []Evidence    `json:"evidence"`
	Source   string        `json:"source"`
	Fix      string        `json:"fix"`
	// Fingerprint is the rule, subject and pointer. It is the same in every run and at every index
	// in a list.
	Fingerprint string `json:"fingerprint"`
	// Subject is the tool, resource, method or stream that broke the rule, such as "tool get-sum".
	Subject string `json:"-"`
	// Times counts the messages. Evidence has only the first of them.
	Times int `json:"-"`

	// Revision is the revision that the conversation agreed on after the finding, or "".
	Revision string `json:"-"`

	// before is the conversation, if its revision was not known at the time of the finding.
	before *conv.Conversation
}

// dated returns the finding with the page for the revision that its conversation agreed on later.
func (f Finding) dated(r *Rule) Finding {
	if f.before != nil && f.before.Session != conv.Unknown {
		f.Source = r.Page(f.before.Session)
		f.Revision = f.before.Session.String()
	}
	f.before = nil
	return f
}

// Evidence is the place of a violation: a frame of a run, a JSON pointer into it, the actual and
// the expected value.
type Evidence struct {
	Run     string `json:"run,omitempty"`
	Conn    int    `json:"conn,omitempty"`
	Seq     uint64 `json:"seq"`
	Pointer string `json:"pointer,omitempty"`
	Got     string `json:"got,omitempty"`
	Want    string `json:"want,omitempty"`
	// Stderr is the last output of the server to standard error before it exited.
	Stderr string `json:"stderr,omitempty"`
}

const (
	mostEvidence = 5    // per finding
	mostFindings = 1000 // per rule
	mostBytes    = 200  // of quoted text
)

// A found collects the findings of a rule, in order and by fingerprint.
type found struct {
	findings []*Finding
	by       map[string]*Finding
}

// add records a violation and returns it as a finding. Violations with the same fingerprint become
// one finding with the highest severity.
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
		Evidence: []Evidence{{
			Run: run, Conn: spot.Conn, Seq: spot.Seq, Pointer: at,
			Got: cut(h.Got), Want: cut(h.Want),
		}},
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
