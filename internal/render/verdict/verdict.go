// Package verdict shows the judgement of a server: as text, JSON, SARIF, JUnit, Markdown and a
// badge. A judgement has a list of rules with a verdict each, the findings with their evidence, and
// the ladder: the steps that must work before anything can be judged.
package verdict

import (
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

// The verdicts on rules without a finding.
const (
	Pass          = "pass"
	NotApplicable = "not applicable"
	NotRun        = "not run"
)

// A Report is the result of a judgement. Command is the command that judged, "check"; Version is
// mcpc's version.
type Report struct {
	Command string `json:"-"`
	Version string `json:"-"`
	Target  string `json:"target"`
	// Revisions are the protocol revisions that the server was judged by. Recording is the number
	// or the file of the evidence. Run is the number if Recording is a run, else 0. Requests counts the
	// sent requests.
	Revisions []string  `json:"revisions"`
	Recording string    `json:"recording,omitempty"`
	Run       int       `json:"-"`
	Requests  int       `json:"requests,omitempty"`
	Ladder    []Rung    `json:"ladder,omitempty"`
	Findings  []Finding `json:"findings"`
	Rules     []Rule    `json:"rules"`
	// Hosts says how hosts accept the tools; nil if it is unknown.
	Hosts *Hosts `json:"hosts,omitempty"`
	// Lacks are the flags that would let the rules run that were not run.
	Lacks []string `json:"-"`
	// Known are findings that the baseline has. Stale are the fingerprints in the baseline that
	// were not found again. Notes have further information for a reader.
	Known []Finding `json:"known,omitempty"`
	Stale []string  `json:"stale,omitempty"`
	Notes []string  `json:"notes,omitempty"`
	// Incomplete says why the judgement ended early; "" if it did not.
	Incomplete string `json:"incomplete,omitempty"`
}

// A Rung is one step of the ladder: its name, its State, what was found, and a fix if it failed.
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

// A Finding is a violation of a rule by one subject.
type Finding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Subject  string `json:"subject,omitempty"`
	// Server is the server that broke the rule, if a report is about several.
	Server string `json:"server,omitempty"`
	// Revisions are the protocol revisions with the finding.
	Revisions []string   `json:"revisions,omitempty"`
	Evidence  []Evidence `json:"evidence"`
	Source    string     `json:"source"`
	Fix       string     `json:"fix"`
	// Repeat is a command that sends the same request; "" if no command can send it.
	Repeat string `json:"repeat,omitempty"`
	// Step is a step of a *.mcpc.yaml that sends the same request, in JSON, and expects the right kind
	// of answer; "" if there is none.
	Step        string `json:"step,omitempty"`
	Fingerprint string `json:"fingerprint"`
}

// Evidence is where a rule was broken: an exchange as mcpc show takes it, a frame of the recording,
// a JSON pointer into it, the value there and the expected value.
type Evidence struct {
	Run      string `json:"run,omitempty"`
	Exchange string `json:"exchange,omitempty"`
	Conn     int    `json:"conn,omitempty"`
	Seq      uint64 `json:"seq"`
	Pointer  string `json:"pointer,omitempty"`
	Got      string `json:"got,omitempty"`
	Want     string `json:"want,omitempty"`
	// Stderr is the end of the server's standard error before it exited.
	Stderr string `json:"stderr,omitempty"`
}

// A Rule is an obligation of a server with the verdict: a severity, Pass, NotApplicable or NotRun.
// Why describes what is absent or what was found instead.
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

// Weight returns 1 to 3 for the severities Info to Error, and 0 if the text is no severity.
func Weight(severity string) int {
	return 1 + slices.Index([]string{Info, Warn, Error}, severity)
}

// Count returns the number of rules with a verdict.
func (r *Report) Count(verdict string) int {
	n := 0
	for _, rule := range r.Rules {
		if rule.Verdict == verdict {
			n++
		}
	}
	return n
}

// Judge sets the verdict of each rule that was run to the worst severity of its findings, or Pass,
// and sorts the findings by severity, the worst first.
func (r *Report) Judge() {
	worst := map[string]string{}
	for _, f := range r.Findings {
		if Weight(f.Severity) > Weight(worst[f.Rule]) {
			worst[f.Rule] = f.Severity
		}
	}
	for i := range r.Rules {
		rule := &r.Rules[i]
		if severity := worst[rule.ID]; severity != "" { // a finding counts, also if the rule is marked as not run
			rule.Verdict = severity
		} else if rule.Verdict != NotApplicable && rule.Verdict != NotRun {
			rule.Verdict = Pass
		}
	}
	sliceutil.Sort(r.Findings, func(a, b Finding) int { return Weight(b.Severity) - Weight(a.Severity) })
}

// Worst returns the greatest weight of the findings.
func (r *Report) Worst() int {
	weight := 0
	for _, f := range r.Findings {
		weight = max(weight, Weight(f.Severity))
	}
	return weight
}

// Summary returns the number of rules for each verdict, in one line.
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

// JSON returns the report as one document.
func (r *Report) JSON() json.RawMessage {
	counts := map[string]int{}
	for _, rule := range r.Rules {
		counts[rule.Verdict]++
	}
	// A missing list becomes [], not null.
	report := *r
	report.Findings = append([]Finding{}, r.Findings...)
	report.Rules = append([]Rule{}, r.Rules...)
	report.Revisions = append([]string{}, r.Revisions...)
	raw, _ := jsonraw.Marshal(struct {
		Summary string         `json:"summary"`
		Counts  map[string]int `json:"counts"`
		*Report                // its members follow in the same object
	}{r.Summary(), counts, &report})
	return raw
}

// findRule returns the rule with an id.
func (r *Report) findRule(id string) Rule {
	if i := slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.ID == id }); i >= 0 {
		return r.Rules[i]
	}
	return Rule{ID: id}
}

// plainText returns a finding in a few lines, for the report formats that have no layout for
// findings.
func (f *Finding) plainText() string {
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
	add("again", f.Repeat)
	add("step", strings.Join(f.stepLines(), "\n"))
	return strings.Join(lines, "\n")
}

// stepLines returns the steps of a finding as items of the list "steps" in a *.mcpc.yaml, each in a
// line. It returns nil if the finding has none.
func (f *Finding) stepLines() []string {
	if f.Step == "" {
		return nil
	}
	steps, err := jsonraw.Array([]byte(f.Step))
	if err != nil {
		return []string{"- " + f.Step}
	}
	return sliceutil.Map(steps, func(step json.RawMessage) string { return "- " + string(step) })
}

// Unfinished says why the server could not be judged completely: the failed step of the ladder, or
// why the judgement ended early. It returns "" if the judgement is complete.
func (r *Report) Unfinished() string {
	for _, rung := range r.Ladder {
		if rung.State == Failed {
			return rung.Name + ": " + rung.Text
		}
	}
	return r.Incomplete
}
