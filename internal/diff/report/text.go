package report

import (
	"fmt"
	"strings"

	"mcpc/internal/diff"
	"mcpc/internal/sanitize"
)

// A Role is the meaning of a span. Callers choose a style for each role.
type Role int

// The roles of spans. RemovedWord and AddedWord mark the words that differ between a removed line
// and the added line that replaces it.
const (
	Plain Role = iota
	BreakingRole
	RiskyRole
	HarmlessRole
	AcceptedRole
	Dim
	Removed
	RemovedWord
	Added
	AddedWord
)

// A Span is a text without line ends, safe to show.
type Span struct {
	Role Role
	Text string
}

// A Line is one line of a view.
type Line []Span

// String returns the text of the line without roles.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// formatLine returns a line of one span, safe to show.
func formatLine(role Role, format string, args ...any) Line {
	return Line{{role, displayText(fmt.Sprintf(format, args...))}}
}

// displayText returns a text on one line that is safe to show.
func displayText(text string) string { return sanitize.Line(text, sanitize.Signs) }

// changeRole returns the role of the level of a change, or AcceptedRole.
func changeRole(c diff.Change) Role {
	if c.Accepted != "" {
		return AcceptedRole
	}
	return map[diff.Level]Role{diff.Breaking: BreakingRole, diff.Risky: RiskyRole, diff.Harmless: HarmlessRole}[c.Level]
}

// Text returns the report for a terminal: each change with its fix and a unified diff of its
// value, and the summary last. Unless all is set, it only counts harmless changes by subject.
func Text(r Report, all bool) []Line { return append(Body(r, all), SummaryLine(r)) }

// SummaryLine returns the last line of Text.
func SummaryLine(r Report) Line { return formatLine(Plain, "%s", r.Summary()) }

// Body returns the lines of Text without the summary.
func Body(r Report, all bool) []Line {
	var lines []Line
	harmless := map[diff.Subject]int{}
	var subjects []diff.Subject
	for _, c := range r.Changes {
		if c.Level == diff.Harmless && !all {
			harmless[c.Subject]++
			if harmless[c.Subject] == 1 {
				subjects = append(subjects, c.Subject)
			}
			continue
		}
		lines = append(lines, Show(c)...)
	}
	for _, s := range subjects {
		lines = append(
			lines,
			Line{{HarmlessRole, "harmless"}, {Plain, "  " + s.String() + ": " + describeHarmless(r, s, harmless[s])}},
		)
	}
	if growth := r.growthLine(); growth != "" {
		lines = append(lines, formatLine(Plain, "%s", growth))
	}
	for _, note := range r.notes() {
		lines = append(lines, formatLine(RiskyRole, "%s", note))
	}
	return lines
}

// describeHarmless returns a text about the harmless changes of a subject: the sentence of the only
// change, or the rules of all changes. n is their number.
func describeHarmless(r Report, s diff.Subject, n int) string {
	count := map[string]int{}
	rules := []string{}
	for _, c := range r.Changes {
		if c.Level != diff.Harmless || c.Subject != s {
			continue
		}
		if n == 1 {
			return c.Text
		}
		count[c.Rule]++
		if count[c.Rule] == 1 {
			rules = append(rules, c.Rule)
		}
	}
	for i, rule := range rules {
		if count[rule] > 1 {
			rules[i] = fmt.Sprintf("%s (%d)", rule, count[rule])
		}
	}
	return strings.Join(rules, ", ")
}

// LevelOf returns the level of a change, padded to the longest level.
func LevelOf(c diff.Change) Span { return Span{changeRole(c), fmt.Sprintf("%-8s", c.Level)} }

// Show returns the lines of one change: its sentence, a unified diff of its value, and the fix or
// the acceptance.
func Show(c diff.Change) []Line {
	lines := []Line{Headline(c)}
	for _, l := range Unified(c) {
		lines = append(lines, append(Line{{Plain, "    "}}, l...))
	}
	return append(lines, Advice(c)...)
}

// Headline returns the first line of Show: the level, the sentence, the rule and the fingerprint.
func Headline(c diff.Change) Line {
	return Line{LevelOf(c), {Plain, "  " + displayText(sentence(c))}, {Dim, "  " + c.Rule + " " + c.Fingerprint}}
}

// Advice returns the last line of Show: the acceptance, or else the fix; no line without either.
func Advice(c diff.Change) []Line {
	if reason := acceptanceText(c); reason != "" {
		return []Line{formatLine(AcceptedRole, "    %s", reason)}
	}
	if rule, _ := diff.RuleOf(c.Rule); rule.Fix != "" {
		return []Line{formatLine(Dim, "    %s", rule.Fix)}
	}
	return nil
}
