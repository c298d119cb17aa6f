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

	// undated is the conversation, if its revision was not known when the finding was made, else nil.
	undated *conv.Conversation
}

// withAgreedRevision returns the finding with the page for the revision that its conversation agreed on later.
func (f Finding) withAgreedRevision(r *Rule) Finding {
	if f.undated != nil && f.undated.Session != conv.Unknown {
		f.Source = r.Page(f.undated.Session)
		f.Revision = f.undated.Session.String()
	}
	f.undated = nil
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
	maxEvidence    = 5    // per finding
	maxFindings    = 1000 // per rule
	maxQuotedBytes = 200  // of quoted text
)

// A findingList collects the findings of a rule, in order and by fingerprint.
type findingList struct {
	findings []*Finding
	byKey    map[string]*Finding
}

// add records a violation and returns it as a finding. Violations with the same fingerprint become
// one finding with the highest severity.
func (f *findingList) add(r *Rule, run string, e *conv.Event, h conv.Hit) Finding {
	severity := h.Severity
	if severity == "" {
		severity = r.Severity
	}
	spot := e.Spot()
	if h.Spot.Seq != 0 { // the violation is in an earlier frame than the event
		spot = h.Spot
	}
	subject := cmp.Or(h.Subject, e.Subject, e.Method)
	key := strings.TrimSpace(r.ID+" "+subject) + " " + h.Pointer
	finding := Finding{
		Rule:        r.ID,
		Severity:    severity,
		Title:       r.Title,
		Source:      r.Page(e.Rev),
		Fix:         r.Fix,
		Subject:     subject,
		Times:       1,
		Fingerprint: strings.TrimSpace(excerpt(key)),
		Evidence: []Evidence{{
			Run: run, Conn: spot.Conn, Seq: spot.Seq, Pointer: pointerOf(e, h),
			Got: excerpt(h.Got), Want: excerpt(h.Want),
		}},
	}
	if e.Rev == conv.Unknown {
		finding.undated = e.Conversation
	}
	earlier := f.byKey[key]
	if earlier == nil {
		if len(f.findings) < maxFindings {
			f.addNew(key, finding)
		}
		return finding // also beyond the limit: the caller of Found gets it
	}
	if weight(severity) > weight(earlier.Severity) {
		earlier.Severity = severity
	}
	earlier.Times++
	if len(earlier.Evidence) < maxEvidence {
		earlier.Evidence = append(earlier.Evidence, finding.Evidence...)
	}
	return finding
}

// addNew adds a copy of a finding that has no earlier one with its key.
func (f *findingList) addNew(key string, finding Finding) {
	if f.byKey == nil {
		f.byKey = map[string]*Finding{}
	}
	finding.Evidence = slices.Clone(finding.Evidence)
	f.byKey[key] = &finding
	f.findings = append(f.findings, &finding)
}

// pointerOf returns the JSON pointer of a violation in the message of its event.
func pointerOf(e *conv.Event, h conv.Hit) string {
	if h.Root {
		return h.Pointer
	}
	return e.Pointer + h.Item + h.Pointer
}

// excerpt returns the beginning of a text that a finding quotes.
func excerpt(text string) string { return jsonraw.Excerpt([]byte(text), maxQuotedBytes) }

// weight returns a number for the order of severities, the highest for the most severe.
func weight(s conv.Severity) int {
	switch s {
	case conv.Error:
		return 3
	case conv.Warn:
		return 2
	}
	return 1
}
