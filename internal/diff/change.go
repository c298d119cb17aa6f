package diff

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
	"mcpc/internal/sliceutil"
)

// A Level says what a change does to those who use the server.
type Level int

// The levels, lightest first. Harmless needs no attention; Risky may change what a model or a
// client does; with Breaking a call that was right fails, or a result surprises its reader.
const (
	Harmless Level = iota
	Risky
	Breaking
)

// Levels are the names of the levels.
var Levels = []string{"harmless", "risky", "breaking"}

func (l Level) String() string { return Levels[l] }

// MarshalText is the level by its name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// ParseLevel reads what String writes; false for any other word.
func ParseLevel(word string) (Level, bool) {
	i := slices.Index(Levels, word)
	return Level(i), i >= 0
}

// The kinds of subjects, in the order in which changes are listed. Call is for the comparison
// of recorded calls, which another package adds.
const (
	Server        = "server"
	Revision      = "revision"
	Authorization = "authorization"
	Capability    = "capability"
	Instructions  = "instructions"
	List          = "list"
	Tool          = "tool"
	Prompt        = "prompt"
	Resource      = "resource"
	Template      = "template"
	Call          = "call"
)

var kinds = []string{Server, Revision, Authorization, Capability, Instructions, List, Tool, Prompt, Resource, Template, Call}

// Sections are the words of --only.
var Sections = []string{"tools", "prompts", "resources", "caps", "instructions", "calls"}

// A Subject is what changed: a tool by its name, a resource by its URI, a capability by its
// path ("tools.listChanged"), a list by the member that has it ("tools").
type Subject struct{ Kind, Name string }

func (s Subject) String() string {
	if s.Name == "" {
		return s.Kind
	}
	return s.Kind + " " + sanitize.Line(s.Name, sanitize.Signs)
}

// Section is the word of --only that selects the subject.
func (s Subject) Section() string {
	switch s.Kind {
	case Tool, Prompt, Resource, Call:
		return s.Kind + "s"
	case Template:
		return "resources"
	case Instructions:
		return Instructions
	case List:
		return strings.Replace(s.Name, "templates", "resources", 1)
	}
	return "caps"
}

// A Change is one difference between two snapshots.
type Change struct {
	Rule    string
	Level   Level
	Subject Subject
	// Pointer is a JSON pointer into the definition of the subject, "" for all of it; a place
	// behind a $ref has the pointer of the place that refers to it.
	Pointer string
	// Was and Is are the values there; nil where there is none.
	Was, Is json.RawMessage
	// Text is one sentence without the subject, safe to show.
	Text string
	// Fingerprint identifies the change: the same change of the same subject has it in each
	// comparison, whatever else changed. It is a c and 15 hexadecimal digits: never a number, as
	// YAML has them.
	Fingerprint string
	// Accepted is the reason for which the change was accepted, and Until the last day of that
	// (2006-01-02); both are "" where it was not. Compare does not set them.
	Accepted, Until string
}

// identify sets the fingerprint. key stands for the pointer where that depends on other changes.
func (c *Change) identify(key string) {
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(c.Rule), []byte(c.Subject.Kind), []byte(c.Subject.Name), []byte(key), jsonraw.Canonical(c.Was), jsonraw.Canonical(c.Is)} {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	c.Fingerprint = "c" + hex.EncodeToString(hash.Sum(nil))[:15]
}

// Failing counts the changes at or above a level that were not accepted.
func Failing(changes []Change, from Level) (n int) {
	for _, c := range changes {
		if c.Level >= from && c.Accepted == "" {
			n++
		}
	}
	return n
}

// Only gives the changes of some sections; all where none is named.
func Only(changes []Change, sections []string) []Change {
	if len(sections) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return !slices.Contains(sections, c.Subject.Section()) })
}

// AsModel gives the changes of what a client hands to a model: names, descriptions and
// inputSchemas of tools, and the instructions.
func AsModel(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		seen := c.Pointer == "" || strings.HasPrefix(c.Pointer, "/description") || strings.HasPrefix(c.Pointer, "/inputSchema")
		return c.Subject.Kind != Instructions && (c.Subject.Kind != Tool || !seen)
	})
}

// CallChange gives a change of a recorded call: name says which request it is, place is the jq
// path of what changed in the result, and note what the rule adds. The rule must be in the table.
func CallChange(rule, name, pointer, place, note string, was, is json.RawMessage) Change {
	c := &comparison{}
	c.add(Subject{Call, name}, rule, pointer, was, is, detail{place: displayText(place), note: note})
	return c.changes[0]
}

// Sorted brings changes into the order of a report: the gravest first, then by subject and
// place. Of two that are the same one is kept. The argument is changed.
func Sorted(changes []Change) []Change {
	sliceutil.Sort(changes, func(x, y Change) int {
		return cmp.Or(cmp.Compare(y.Level, x.Level),
			cmp.Compare(slices.Index(kinds, x.Subject.Kind), slices.Index(kinds, y.Subject.Kind)),
			cmp.Compare(x.Subject.Name, y.Subject.Name), cmp.Compare(x.Pointer, y.Pointer), cmp.Compare(x.Rule, y.Rule),
			bytes.Compare(x.Was, y.Was), bytes.Compare(x.Is, y.Is), cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(changes, func(c Change) bool {
		twice := seen[c.Fingerprint]
		seen[c.Fingerprint] = true
		return twice
	})
}

// displayValue is a value in a sentence.
func displayValue(raw json.RawMessage, absent string) string {
	if raw == nil {
		return absent
	}
	text := string(raw)
	if word, ok := jsonraw.Text(raw); ok && word != "" && !strings.ContainsAny(word, " \t\r\n") {
		text = word
	}
	return sanitize.Line(jsonraw.Excerpt([]byte(text), 60), sanitize.Signs)
}
