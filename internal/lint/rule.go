package lint

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/lint/conv"
	"mcpc/internal/suggest"
)

// A Mode is the kind of traffic that a rule needs.
type Mode string

// The modes: passive rules judge any traffic. The others need requests that a check sends:
// valid requests, malformed requests or tool calls.
const (
	Passive  Mode = "P"
	Safe     Mode = "A-safe"
	Negative Mode = "A-neg"
	Calls    Mode = "A-call"
	Fuzz     Mode = "A-fuzz"
)

// A Rule is an obligation of a server, or of a client if its id begins with "client".
type Rule struct {
	ID       string        `json:"rule"`
	Severity conv.Severity `json:"severity"`
	Mode     Mode          `json:"mode"`
	// From and To are the first and the last revision that the rule applies to.
	From conv.Rev `json:"-"`
	To   conv.Rev `json:"-"`
	// Range is the same in words: "2025-06-18 and later".
	Range string `json:"revisions"`
	// Transport is "any", "stdio", "http" (both kinds), "streamable" or "sse".
	Transport string `json:"transport"`
	// Capability is the capability that the server must declare, such as "tools", or "any".
	Capability string   `json:"capability"`
	Tags       []string `json:"tags"`
	// Title is the obligation. Fix says how to satisfy it.
	Title string `json:"title"`
	Fix   string `json:"fix"`
	// Source lists pages of the specification, separated by semicolons. * is replaced by the
	// revision.
	Source string `json:"source"`
}

//go:embed rules.txt
var ruleTable string

// Rules returns all rules in the order of the table.
var Rules = sync.OnceValue(func() []Rule {
	rules, err := ParseRules(ruleTable)
	if err != nil {
		panic(err) // a test reads the table
	}
	return rules
})

// Find returns the rule with an id.
func Find(id string) (Rule, bool) {
	for _, r := range Rules() {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// Select returns the ids of the rules with the given ids or tags, in the order of the table. An
// unknown word is an error.
func Select(words ...string) ([]string, error) {
	var ids, known []string
	for _, r := range Rules() {
		known = append(append(known, r.ID), r.Tags...)
		if slices.ContainsFunc(words, func(w string) bool { return w == r.ID || slices.Contains(r.Tags, w) }) {
			ids = append(ids, r.ID)
		}
	}
	for _, w := range words {
		if !slices.Contains(known, w) {
			return nil, errors.New(suggest.OrMeant("unknown rule or tag "+strconv.Quote(w), w, known))
		}
	}
	return ids, nil
}

// ParseRules reads a table of rules. Each rule is a line "ID severity mode revisions transport
// capability tags", followed by indented lines "rule: ", "fix: " and "source: ".
func ParseRules(text string) ([]Rule, error) {
	var rules []Rule
	for n, line := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, " ") { // the first line of a rule
			r, err := parseRule(strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			rules = append(rules, r)
			continue
		}
		if len(rules) == 0 {
			return nil, fmt.Errorf("line %d: text before the first rule", n+1)
		}
		rule := &rules[len(rules)-1]
		switch key {
		case "rule":
			rule.Title = value
		case "fix":
			rule.Fix = value
		case "source":
			rule.Source = value
		default:
			return nil, fmt.Errorf("line %d: unknown member %q", n+1, key)
		}
	}
	return rules, nil
}

// parseRule parses the words of the first line of a rule.
func parseRule(words []string) (Rule, error) {
	if len(words) != 7 {
		return Rule{}, fmt.Errorf("%d words in place of 7", len(words))
	}
	r := Rule{
		ID:         words[0],
		Severity:   conv.Severity(words[1]),
		Mode:       Mode(words[2]),
		Transport:  words[4],
		Capability: words[5],
		Tags:       strings.Split(words[6], ","),
	}
	var err error
	r.From, r.To, err = parseRange(words[3])
	r.Range = r.describeRange()
	return r, err
}

// parseRange reads "all", "26", "<=25b", ">=25a" or "25a-25b". Only rules for "all" apply to
// messages of an unknown revision.
func parseRange(text string) (from, to conv.Rev, err error) {
	first, last, isRange := strings.Cut(text, "-")
	switch {
	case text == "all":
		return conv.Unknown, conv.Rev20260728, nil
	case strings.HasPrefix(text, "<="):
		first = "24"
		last = text[2:]
	case strings.HasPrefix(text, ">="):
		first = text[2:]
		last = "26"
	case !isRange: // one revision
		last = first
	}
	from, fromOK := conv.ParseShort(first)
	to, toOK := conv.ParseShort(last)
	if !fromOK || !toOK {
		return 0, 0, fmt.Errorf("unknown revisions %q", text)
	}
	return from, to, nil
}

// describeRange returns the revisions of a rule in words.
func (r Rule) describeRange() string {
	if r.From == conv.Unknown {
		return "all revisions"
	}
	if r.From == r.To {
		return r.From.String()
	}
	if r.To == conv.Rev20260728 {
		return r.From.String() + " and later"
	}
	return r.From.String() + " to " + r.To.String()
}

// Page returns the page of the specification for a revision: the page that names the revision, or
// else a page for all revisions.
func (r Rule) Page(rev conv.Rev) string {
	pages := strings.Split(r.Source, "; ")
	if rev == conv.Unknown {
		rev = r.To // the newest page
	}
	general := pages[0]
	for _, page := range slices.Backward(pages) { // so that the first page with * remains
		if strings.HasPrefix(page, rev.String()+"/") {
			return page
		}
		if strings.Contains(page, "*") {
			general = page
		}
	}
	return strings.Replace(general, "*", rev.String(), 1)
}
