package proxy

import (
	"cmp"
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

// A Rule does one action to the messages that its filter wants:
//
//	rule      = "when" [filter] { condition } "do" action
//	condition = "#" N | "every" N | "p=" NUMBER | "seed=" N | "after" TIME [ "for" TIME ]
//
// A condition counts the messages that the filter wants and to which the action can be done.
type Rule struct {
	ListedRule
	Action Action

	filter filter.Filter
	// told is set where messages of the server are asked about, too.
	includesServer  bool
	nth, every      int64
	chance          float64
	seed            *uint64
	after, duration time.Duration
	// column is that of the action.
	actionColumn int

	random  *rand.Rand
	addedAt time.Time
}

// A ListedRule is a rule and what became of it.
type ListedRule struct {
	Number int `json:"number"`
	// Text is the rule itself, Source the file or the flag that has it, Line the line there.
	Text   string `json:"rule"`
	Source string `json:"source"`
	Line   int    `json:"line"`
	// Seen are the messages that its filter wanted, Fired those to which something was done.
	Seen  int64 `json:"seen"`
	Fired int64 `json:"fired"`
	// Seed is that of its random numbers.
	Seed uint64 `json:"seed"`
	// Removed is set where it is no longer in force.
	Removed bool `json:"removed,omitempty"`
}

// String names a rule for a person.
func (l ListedRule) String() string {
	return fmt.Sprintf("%d  %s  (%s, line %d; fired %d of %d)", l.Number, l.Text, l.Source, l.Line, l.Fired, l.Seen)
}

// An Error says where a rule stops making sense. Lines and columns count from 1.
type RuleError struct {
	Source       string
	Line, Column int
	Text         string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("%s, line %d, column %d: %s", e.Source, e.Line, e.Column, e.Text)
}

// Parse reads rules, one in each line. Blank lines and those that begin with # are skipped.
// Errors are *RuleError. Now is what times in a filter count from.
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

func (r *Rule) parse(w *ruleScanner, now time.Time) (err error) {
	if word := w.next(); word != "when" {
		return w.errorHere("a rule begins with when, as in: when method:tools/call do delay 2s")
	}
	w.skipBlanks()
	start := w.offset
	for !endsFilter(w.peek()) {
		w.next()
	}
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

// endsFilter reports a word behind the filter: a condition, do, or none. As a text to search for
// it is in quotes.
func endsFilter(word string) bool {
	return word == "" || word == "do" || word == "every" || word == "after" || word[0] == '#' ||
		strings.HasPrefix(word, "p=") ||
		strings.HasPrefix(word, "seed=")
}

func (r *Rule) readCondition(w *ruleScanner) (err error) {
	word := w.next()
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
		if err != nil || !(r.chance >= 0 && r.chance <= 1) { // NaN neither
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
		return w.errorHere("expected a condition (#2, every 3, p=0.1, seed=7, after 30s for 10s) or do, not " + quoteWord(word))
	}
	return err
}

//go:embed presets/*.txt
var presetFiles embed.FS

// PresetPrefix stands before the name of a preset where rules are named.
const PresetPrefix = "preset:"

// Presets are the names of the presets.
func Presets() (names []string) {
	entries, _ := fs.ReadDir(presetFiles, "presets")
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// Preset is the text of a preset; an error names the one that was perhaps meant.
func Preset(name string) (string, error) {
	text, err := presetFiles.ReadFile("presets/" + name + ".txt")
	if err != nil || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("unknown preset %q%s", name,
			cmp.Or(suggestion(name, Presets()), ": use "+strings.Join(Presets(), ", ")))
	}
	return string(text), nil
}

// suggestion is the known word that was perhaps meant, as a question.
func suggestion(word string, known []string) string {
	if near := suggest.Nearest(word, known); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}
