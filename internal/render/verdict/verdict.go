// Package verdict shows the judgement of a server: as text, JSON, SARIF, JUnit, Markdown and
// a badge. A judgement is a list of rules with a verdict each, the findings with their
// evidence, and the ladder of what has to work before anything can be judged.
package verdict

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
)

// The severities of findings.
const (
	Error = "error"
	Warn  = "warn"
	Info  = "info"
)

// The verdicts on rules that no finding speaks against.
const (
	Pass          = "pass"
	NotApplicable = "not applicable"
	NotRun        = "not run"
)

// A Report is what a judgement found. Command is the one that judged, "check"; Version is
// that of mcpc.
type Report struct {
	Command string `json:"-"`
	Version string `json:"-"`
	Target  string `json:"target"`
	// Revisions are those by which the server was judged, Recording is the number or the
	// file of the evidence, and Requests counts what was sent.
	Revisions []string  `json:"revisions"`
	Recording string    `json:"recording,omitempty"`
	Requests  int       `json:"requests,omitempty"`
	Ladder    []Rung    `json:"ladder,omitempty"`
	Findings  []Finding `json:"findings"`
	Rules     []Rule    `json:"rules"`
	// Hosts is what hosts do with the tools; nil where there are none.
	Hosts *Hosts `json:"hosts,omitempty"`
	// Lacks are the flags that would run rules that were not run.
	Lacks []string `json:"-"`
	// Known are findings of the baseline, Stale the fingerprints in it that were not
	// found any more. Notes say what else a reader has to know.
	Known []Finding `json:"known,omitempty"`
	Stale []string  `json:"stale,omitempty"`
	Notes []string  `json:"notes,omitempty"`
	// Incomplete says why the judgement ended early; "" if it did not.
	Incomplete string `json:"incomplete,omitempty"`
}

// A Rung is one step of the way to a server: its name, its State, what was found, and what to
// do where it failed.
type Rung struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text,omitempty"`
	Fix   string `json:"fix,omitempty"`
}

// The states of a Rung.
const (
	OK         = "ok"
	Warning    = "warn"
	Failed     = "failed"
	NotReached = "not reached"
	Skipped    = "skipped"
)

// A Finding is a rule that one subject did not keep.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Subject  string `json:"subject,omitempty"`
	// Server is the server that broke the rule, where a report is about several.
	Server string `json:"server,omitempty"`
	// Revisions are those in which it was found.
	Revisions []string   `json:"revisions,omitempty"`
	Evidence  []Evidence `json:"evidence"`
	Source    string     `json:"source"`
	Fix       string     `json:"fix"`
	// Repeat is a command that sends the same request; "" where none does.
	Repeat      string `json:"repeat,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// Evidence is where a rule was broken: an exchange as mcpc show takes it, a frame of the
// recording, a JSON pointer into it, what was found there and what should have come.
type Evidence struct {
	Run      string `json:"run,omitempty"`
	Exchange string `json:"exchange,omitempty"`
	Conn     int    `json:"conn,omitempty"`
	Seq      uint64 `json:"seq"`
	Pointer  string `json:"pointer,omitempty"`
	Got      string `json:"got,omitempty"`
	Want     string `json:"want,omitempty"`
	// Stderr is the end of what the server wrote to standard error before it exited there.
	Stderr string `json:"stderr,omitempty"`
}

// A Rule is an obligation of a server, and the verdict on it: a severity, Pass,
// NotApplicable or NotRun. Why says what is absent, or what was found instead.
type Rule struct {
	ID       string   `json:"rule"`
	Verdict  string   `json:"verdict"`
	Why      string   `json:"why,omitempty"`
	Severity string   `json:"severity"`
	Title    string   `json:"title"`
	Source   string   `json:"source"`
	Fix      string   `json:"fix"`
	Tags     []string `json:"tags,omitempty"`
}

// Weight orders severities: that of an error is the greatest, 0 is none.
func Weight(severity string) int {
	return 1 + slices.Index([]string{Info, Warn, Error}, severity)
}

// Count counts the rules with a verdict.
func (r *Report) Count(verdict string) (n int) {
	for _, rule := range r.Rules {
		if rule.Verdict == verdict {
			n++
		}
	}
	return n
}

// Judge sets the verdict of each rule that was run by the findings that are left, and sorts
// these, the gravest first.
func (r *Report) Judge() {
	worst := map[string]string{}
	for _, f := range r.Findings {
		if Weight(f.Severity) > Weight(worst[f.Rule]) {
			worst[f.Rule] = f.Severity
		}
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		if rule.Verdict != NotApplicable && rule.Verdict != NotRun || worst[rule.ID] != "" {
			rule.Verdict = cmp.Or(worst[rule.ID], Pass)
		}
	}
	sliceutil.Sort(r.Findings, func(a, b Finding) int { return Weight(b.Severity) - Weight(a.Severity) })
}

// Worst is the greatest weight of the findings.
func (r *Report) Worst() (weight int) {
	for _, f := range r.Findings {
		weight = max(weight, Weight(f.Severity))
	}
	return weight
}

// Summary is the report in one line, which counts rules.
func (r *Report) Summary() string {
	s := fmt.Sprintf("error %d, warn %d, info %d; %d passed, %d not applicable, %d not run",
		r.Count(Error), r.Count(Warn), r.Count(Info), r.Count(Pass), r.Count(NotApplicable), r.Count(NotRun))
	if len(r.Lacks) > 0 && r.Count(NotRun) > 0 {
		s += " (" + strings.Join(r.Lacks, ", ") + ")"
	}
	if len(r.Known) > 0 {
		s += fmt.Sprintf("; %d known", len(r.Known))
	}
	return s
}

// JSON is the report as one document.
func (r *Report) JSON() json.RawMessage {
	counts := map[string]int{}
	for _, rule := range r.Rules {
		counts[rule.Verdict]++
	}
	all := *r
	all.Findings = append([]Finding{}, r.Findings...)
	all.Rules = append([]Rule{}, r.Rules...) // not null
	all.Revisions = append([]string{}, r.Revisions...)
	raw, _ := jsonraw.Marshal(struct {
		Summary string         `json:"summary"`
		Counts  map[string]int `json:"counts"`
		*Report
	}{r.Summary(), counts, &all})
	return raw
}

// rule finds one of the rules by its id.
func (r *Report) rule(id string) Rule {
	if i := slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.ID == id }); i >= 0 {
		return r.Rules[i]
	}
	return Rule{ID: id}
}

// text is a finding in a few lines for reports without a layout of their own.
func (f *Finding) text() string {
	lines := []string{f.Title}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("subject", f.Subject)
	for _, e := range f.Evidence[:min(1, len(f.Evidence))] {
		add("at", strings.TrimSpace(e.Exchange+" "+e.Pointer))
		add("got", e.Got)
		add("stderr", strings.TrimSpace(e.Stderr))
		add("want", e.Want)
	}
	add("revisions", strings.Join(f.Revisions, ", "))
	add("fix", f.Fix)
	add("source", f.Source)
	add("repeat", f.Repeat)
	return strings.Join(lines, "\n")
}

// Unfinished says why the server was not judged as a whole: the step at which it could not be
// reached or used, or why the judgement ended early. It returns "" for a whole judgement.
func (r *Report) Unfinished() string {
	for _, rung := range r.Ladder {
		if rung.State == Failed {
			return rung.Name + ": " + rung.Text
		}
	}
	return r.Incomplete
}
