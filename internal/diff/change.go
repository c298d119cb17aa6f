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

// A Level is the severity of a change for the users of the server.
type Level int

// The levels, lowest first. A Harmless change needs no attention. A Risky change may alter what a
// model or a client does. A Breaking change makes a valid call fail, or a result have a form that
// its reader does not expect.
const (
	Harmless Level = iota
	Risky
	Breaking
)

// Levels are the names of the levels.
var Levels = []string{"harmless", "risky", "breaking"}

func (l Level) String() string { return Levels[l] }

// MarshalText encodes the level as its name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// ParseLevel returns the level with a name. It reports false if there is no such level.
func ParseLevel(word string) (Level, bool) {
	i := slices.Index(Levels, word)
	return Level(i), i >= 0
}

// The kinds of subjects, in the order that changes are listed in. Only CallChange uses Call.
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

// kinds are the kinds of subjects in the order of a report.
var kinds = []string{
	Server, Revision, Authorization, Capability, Instructions, List,
	Tool, Prompt, Resource, Template, Call,
}

// Sections are the values of the flag --only.
var Sections = []string{"tools", "prompts", "resources", "caps", "instructions", "calls"}

// A Subject names what changed: a tool by its name, a resource by its URI, a capability by its
// path ("tools.listChanged"), a list by its member name ("tools").
type Subject struct{ Kind, Name string }

func (s Subject) String() string {
	if s.Name == "" {
		return s.Kind
	}
	return s.Kind + " " + sanitize.Line(s.Name, sanitize.Signs)
}

// Section returns the value of --only that selects the subject.
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
	// Pointer is a JSON pointer into the definition of the subject; "" is the whole definition.
	// A schema reached through a $ref has the pointer of the referring place.
	Pointer string
	// Was and Is are the values before and after; nil if the value is missing.
	Was, Is json.RawMessage
	// Text is one sentence without the subject, safe to show.
	Text string
	// Fingerprint identifies the change. The same change of the same subject has the same
	// fingerprint in every comparison, independent of other changes. It is a c and 15 hexadecimal
	// digits, so that YAML never reads it as a number.
	Fingerprint string
	// Accepted is the reason why the change was accepted, and Until the last day of the
	// acceptance (2006-01-02). Both are "" if the change was not accepted. Compare does not set
	// them.
	Accepted, Until string
}

// identify sets the fingerprint. key is the pointer, or a replacement for a pointer that depends
// on other changes.
func (c *Change) identify(key string) {
	hash := sha256.New()
	for _, part := range [][]byte{
		[]byte(c.Rule),
		[]byte(c.Subject.Kind),
		[]byte(c.Subject.Name),
		[]byte(key),
		jsonraw.Canonical(c.Was),
		jsonraw.Canonical(c.Is),
	} {
		fmt.Fprintf(hash, "%d:", len(part))
		hash.Write(part)
	}
	c.Fingerprint = "c" + hex.EncodeToString(hash.Sum(nil))[:15]
}

// Failing returns the number of changes at or above a level that were not accepted.
func Failing(changes []Change, from Level) int {
	n := 0
	for _, c := range changes {
		if c.Level >= from && c.Accepted == "" {
			n++
		}
	}
	return n
}

// Only returns the changes of the given sections, or all changes if sections is empty.
func Only(changes []Change, sections []string) []Change {
	if len(sections) == 0 {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !slices.Contains(sections, c.Subject.Section())
	})
}

// AsModel returns the changes of the parts that a client passes to a model: the instructions, and
// the names, descriptions and inputSchemas of tools.
func AsModel(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		switch c.Subject.Kind {
		case Instructions:
			return false
		case Tool:
			return c.Pointer != "" &&
				!strings.HasPrefix(c.Pointer, "/description") &&
				!strings.HasPrefix(c.Pointer, "/inputSchema")
		}
		return true
	})
}

// A CallDifference is a difference between the responses to a recorded call.
type CallDifference struct {
	// Pointer is the JSON pointer of the changed value in the result, and Place its jq path, or ""
	// if the whole result changed.
	Pointer, Place string
	// Note completes the sentence of the rule, or is "".
	Note string
	// Was and Is are the values before and after; nil if the value is missing.
	Was, Is json.RawMessage
}

// CallChange returns a change of a recorded call. name identifies the request. The rule must be in
// Rules.
func CallChange(rule, name string, d CallDifference) Change {
	c := &comparison{}
	c.add(Subject{Call, name}, rule, d.Pointer, d.Was, d.Is, detail{place: displayText(d.Place), note: d.Note})
	return c.changes[0]
}

// Sorted sorts changes for a report, the most severe first, then by subject and place. It removes
// duplicates. It modifies the argument.
func Sorted(changes []Change) []Change {
	sliceutil.Sort(changes, func(x, y Change) int {
		return cmp.Or(
			cmp.Compare(y.Level, x.Level),
			cmp.Compare(slices.Index(kinds, x.Subject.Kind), slices.Index(kinds, y.Subject.Kind)),
			cmp.Compare(x.Subject.Name, y.Subject.Name),
			cmp.Compare(x.Pointer, y.Pointer),
			cmp.Compare(x.Rule, y.Rule),
			bytes.Compare(x.Was, y.Was),
			bytes.Compare(x.Is, y.Is),
			cmp.Compare(x.Fingerprint, y.Fingerprint))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(changes, func(c Change) bool {
		isDuplicate := seen[c.Fingerprint]
		seen[c.Fingerprint] = true
		return isDuplicate
	})
}

// displayValue returns a JSON value as one short line that is safe to show, or absent if raw is
// nil. A string that is a single word loses its quotes.
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
