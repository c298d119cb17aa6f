package proxy

import (
	"embed"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/suggest"
)

// A Rule applies one action to the messages that match its filter:
//
//	rule      = "when" [filter] { condition } "do" action
//	condition = "#" N | "every" N | "p=" NUMBER | "seed=" N | "after" TIME [ "for" TIME ]
//
// A condition counts the messages that match the filter and that the action applies to.
type Rule struct {
	ListedRule
	Action Action

	filter filter.Filter
	// includesServer is set if the filter names a method or a direction: it is then also matched with
	// the server's requests and notifications.
	includesServer  bool
	nth, every      int64
	chance          float64
	seed            *uint64
	after, duration time.Duration
	// actionColumn is the column of the action in its line.
	actionColumn int

	random  *rand.Rand
	addedAt time.Time
}

// A ListedRule is the state of a rule, as it is listed for users.
type ListedRule struct {
	Number int `json:"number"`
	// Text is the rule. Source is the file or the flag it comes from, Line its line there.
	Text   string `json:"rule"`
	Source string `json:"source"`
	Line   int    `json:"line"`
	// Seen counts the messages that matched the filter, Fired the messages the action was applied to.
	Seen  int64 `json:"seen"`
	Fired int64 `json:"fired"`
	// Seed is the seed of the rule's random numbers.
	Seed uint64 `json:"seed"`
	// Removed is set once the rule was removed; it has no effect then.
	Removed bool `json:"removed,omitempty"`
}

// String returns the line that describes the rule to a user.
func (l ListedRule) String() string {
	return fmt.Sprintf("%d  %s  (%s, line %d; fired %d of %d)", l.Number, l.Text, l.Source, l.Line, l.Fired, l.Seen)
}

// A RuleError says where a rule has a syntax error. Lines and columns count from 1.
type RuleError struct {
	Source       string
	Line, Column int
	Text         string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("%s, line %d, column %d: %s", e.Source, e.Line, e.Column, e.Text)
}

// ParseRules parses rules, one in each line. It skips blank lines and lines that begin with #. Its
// errors are *RuleError. Relative times in filters count back from now.
func ParseRules(source, text string, now time.Time) (rules []*Rule, err error) {
	for i, line := range strings.Split(text, "\n") {
		text := strings.TrimLeft(line, " \t")
		column := 1 + len(line) - len(text)
		text = strings.TrimRight(text, " \t\r")
		if text == "" || text[0] == '#' {
			continue
		}
		r := &Rule{ListedRule: ListedRule{Source: source, Line: i + 1, Text: text}, chance: 1}
		if err := r.parse(&ruleScanner{source: source, line: i + 1, text: text, column: column}, now); err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// parse reads the filter, the conditions and the action of a rule, and the column of the action,
// which later errors point at.
func (r *Rule) parse(w *ruleScanner, now time.Time) error {
	if word := w.next(); word != "when" {
		return w.errorHere("a rule begins with when, as in: when method:tools/call do delay 2s")
	}
	w.skipBlanks()
	start := w.offset
	for !endsFilter(w.peek()) {
		w.next()
	}
	var err error
	r.filter, err = filter.ParseLive(w.text[start:w.offset], now)
	if err != nil {
		if e, ok := err.(*filter.Error); ok {
			return w.errorAt(start+e.Offset, e.Text)
		}
		return w.errorAt(start, err.Error())
	}
	r.includesServer = r.filter.Names("method", "dir")
	for w.peek() != "do" {
		if err := r.readCondition(w); err != nil {
			return err
		}
	}
	w.next()
	r.actionColumn = w.column + len([]rune(w.text[:w.offset])) + 1
	r.Action, err = parseAction(w)
	return err
}

// endsFilter reports whether a word ends the filter: a condition, "do", or the end of the rule. A
// filter that searches for such a word puts it in quotes.
func endsFilter(word string) bool {
	return word == "" || word == "do" || word == "every" || word == "after" || word[0] == '#' ||
		strings.HasPrefix(word, "p=") ||
		strings.HasPrefix(word, "seed=")
}

// readCondition reads one condition. It returns an error for any other word, as the action must
// follow.
func (r *Rule) readCondition(w *ruleScanner) error {
	word := w.next()
	var err error
	switch {
	case strings.HasPrefix(word, "#"):
		r.nth, err = strconv.ParseInt(word[1:], 10, 64)
		if err != nil || r.nth < 1 {
			return w.errorHere("# takes the number of a message, from 1: #2")
		}
	case word == "every":
		r.every, err = w.number("every")
		if err == nil && r.every == 0 {
			return w.errorHere("every takes a number from 1")
		}
	case strings.HasPrefix(word, "p="):
		r.chance, err = strconv.ParseFloat(word[2:], 64)
		if err != nil || !(r.chance >= 0 && r.chance <= 1) { // also rejects NaN
			return w.errorHere("p must be a number from 0 to 1: p=0.1")
		}
	case strings.HasPrefix(word, "seed="):
		seed, err := strconv.ParseUint(word[5:], 10, 64)
		if err != nil {
			return w.errorHere("seed must be a whole number: seed=7")
		}
		r.seed = &seed
	case word == "after":
		r.after, err = w.duration("after")
		if err == nil && w.peek() == "for" {
			w.next()
			r.duration, err = w.duration("for")
		}
	case word == "":
		return w.errorHere("do and an action are missing: do delay 2s")
	default:
		const conditions = "#2, every 3, p=0.1, seed=7, after 30s for 10s"
		return w.errorHere("expected a condition (" + conditions + ") or do, not " + quoteWord(word))
	}
	return err
}

//go:embed presets/*.txt
var presetFiles embed.FS

// PresetPrefix precedes the name of a preset where rules are given.
const PresetPrefix = "preset:"

// Presets returns the names of the presets.
func Presets() []string {
	entries, _ := fs.ReadDir(presetFiles, "presets")
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// Preset returns the rules of a preset. The error for an unknown name suggests a similar one.
func Preset(name string) (string, error) {
	text, err := presetFiles.ReadFile("presets/" + name + ".txt")
	if err != nil || strings.ContainsAny(name, `/\`) { // a name is no path
		advice := suggestion(name, Presets())
		if advice == "" {
			advice = ": use " + strings.Join(Presets(), ", ")
		}
		return "", fmt.Errorf("unknown preset %q%s", name, advice)
	}
	return string(text), nil
}

// suggestion returns a question that suggests the known word most similar to word, or "".
func suggestion(word string, known []string) string {
	if near := suggest.Nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}
