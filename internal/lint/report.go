package lint

import (
	"cmp"
	"slices"
	"strings"

	"mcpc/internal/lint/conv"
	"mcpc/internal/sliceutil"
)

// A Verdict is the outcome of judging a rule.
type Verdict string

// The verdicts. Only Fail and Warned make a check fail.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Warned        Verdict = "warn"
	Informed      Verdict = "info"
	NotApplicable Verdict = "not applicable"
	NotRun        Verdict = "not run"
)

// A Judgement is the verdict on one rule.
type Judgement struct {
	Rule    Rule    `json:"-"`
	ID      string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	// Why is the reason for NotApplicable and NotRun.
	Why string `json:"why,omitempty"`
	// Judged counts the messages or entries that the rule was applied to.
	Judged int `json:"judged,omitempty"`
}

// A Report lists the judgements in the order of the rules, and the findings, the most severe first.
type Report struct {
	Judgements []Judgement `json:"judgements"`
	Findings   []Finding   `json:"findings"`
}

// Report returns the judgements and findings so far.
func (l *Linter) Report() Report {
	var r Report
	for i := range l.rules {
		j := l.judgeRule(i)
		r.Judgements = append(r.Judgements, j)
		for _, f := range l.states[i].findings {
			r.Findings = append(r.Findings, f.withAgreedRevision(&l.rules[i]))
		}
	}
	l.Sort(r.Findings)
	return r
}

// Sort orders findings by severity, then by rule, then by place.
func (l *Linter) Sort(findings []Finding) {
	sliceutil.Sort(findings, func(a, b Finding) int {
		placeA := a.Evidence[0]
		placeB := b.Evidence[0]
		return cmp.Or(
			weight(b.Severity)-weight(a.Severity),
			l.ruleIndex[a.Rule]-l.ruleIndex[b.Rule],
			cmp.Compare(placeA.Conn, placeB.Conn),
			cmp.Compare(placeA.Seq, placeB.Seq),
			cmp.Compare(placeA.Pointer, placeB.Pointer),
			cmp.Compare(a.Fingerprint, b.Fingerprint),
		)
	})
}

// Add records that the caller's probe judged a rule. Without findings the rule passed. Findings without
// evidence and unknown ids are ignored.
func (l *Linter) Add(id string, findings ...Finding) {
	i, ok := l.ruleIndex[id]
	if !ok {
		return
	}
	t := &l.states[i]
	t.checked = true
	t.skipReason = ""
	t.judged++
	for _, f := range findings {
		if len(f.Evidence) > 0 {
			t.findings = append(t.findings, &f)
		}
	}
}

// Skip records why a rule was not run, such as an exhausted budget, HTTP 429 or a missing token. It
// does not change a rule that was judged.
func (l *Linter) Skip(id, why string) {
	if i, ok := l.ruleIndex[id]; ok && l.states[i].judged == 0 {
		l.states[i].skipReason = why
	}
}

// SkipAll records why no conversation could be judged. It does not change rules that were judged or
// have their own reason.
func (l *Linter) SkipAll(why string) {
	for i := range l.states {
		if t := &l.states[i]; t.judged == 0 && t.skipReason == "" && t.exemptReason == "" {
			t.skipReason = why
		}
	}
}

// Exempt records why a rule that the caller's probe would judge does not apply. The reason has no effect
// on a rule that was judged or skipped.
func (l *Linter) Exempt(id, why string) {
	if i, ok := l.ruleIndex[id]; ok {
		l.states[i].exemptReason = why
	}
}

// Counts returns the number of rules per verdict.
func (r Report) Counts() map[Verdict]int {
	counts := map[Verdict]int{}
	for _, j := range r.Judgements {
		counts[j.Verdict]++
	}
	return counts
}

// judgeRule returns the judgement of the rule with index i.
func (l *Linter) judgeRule(i int) Judgement {
	rule := l.rules[i]
	t := &l.states[i]
	j := Judgement{Rule: rule, ID: rule.ID, Verdict: Pass, Judged: t.judged}
	switch {
	case t.isOff:
		j.Verdict = NotRun
		j.Why = "switched off"
	case len(t.findings) > 0: // even if some events could not be judged
		j.Verdict = verdictOf(t.findings)
	case t.exemptReason != "" && t.judged == 0 && t.skipReason == "":
		j.Verdict = NotApplicable
		j.Why = t.exemptReason
	case t.skipReason != "":
		j.Verdict = NotRun
		j.Why = t.skipReason
	case !t.checked:
		j.Verdict = NotRun
		j.Why = whyNotRun[rule.Mode]
	case t.judged == 0:
		j.Verdict = NotApplicable
		j.Why = l.whyNotApplicable(rule, t)
	}
	return j
}

// whyNotRun says why a rule without a passive check was not run.
var whyNotRun = map[Mode]string{
	Passive:  "not implemented",
	Safe:     "needs requests of its own: check a server",
	Negative: "needs malformed requests: --negative",
	Calls:    "needs a tool call: --call",
}

// verdictOf returns the verdict of a rule with findings: the most severe of them decides.
func verdictOf(findings []*Finding) Verdict {
	worst := slices.MaxFunc(findings, func(a, b *Finding) int { return weight(a.Severity) - weight(b.Severity) })
	switch worst.Severity {
	case conv.Error:
		return Fail
	case conv.Warn:
		return Warned
	}
	return Informed
}

// whyNotApplicable returns what a rule needs that no conversation had.
func (l *Linter) whyNotApplicable(r Rule, t *ruleState) string {
	if t.wasUndeclared {
		return "the server does not declare " + r.Capability
	}
	if t.hadWrongRev {
		return "holds for " + r.Range + l.otherRevisions(r)
	}
	if t.hadWrongTransport {
		return "holds for " + transportNames[r.Transport]
	}
	return "nothing to check: " + l.describeTriggers(r.ID)
}

// transportNames are the transports of rules in words.
var transportNames = map[string]string{
	"stdio": "stdio", "http": "HTTP", "streamable": "Streamable HTTP", "sse": "HTTP+SSE",
}

// otherRevisions names the revisions of the conversations that a rule does not apply to.
func (l *Linter) otherRevisions(rule Rule) string {
	var names []string
	for r := conv.Rev20241105; r <= conv.Rev20260728; r++ {
		isOutside := r < rule.From || r > rule.To
		if l.seenRevs[r] && isOutside {
			names = append(names, r.String())
		}
	}
	if len(names) > 0 {
		return ", not for " + strings.Join(names, " and ")
	}
	if len(l.seenRevs) == 0 {
		return ", not for an unknown revision"
	}
	return ""
}

// describeTriggers lists the kinds of events that the checks of a rule judge.
func (l *Linter) describeTriggers(id string) string {
	var words []string
	for kind := range l.checksByKind {
		for _, b := range l.checksByKind[kind] {
			if b.check.ID != id {
				continue
			}
			word := conv.Kind(kind).String()
			if len(b.check.Methods) > 0 {
				word += " (" + strings.Join(b.check.Methods, ", ") + ")"
			}
			if !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return strings.Join(words, ", ")
}
