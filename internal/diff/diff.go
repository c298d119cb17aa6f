// Package diff says what changed between two descriptions of an MCP server: one Change for each
// difference, with a rule and a level. Direction matters: what a server accepts may grow, and
// what it sends may not.
//
// It compares what a server declares. Recorded calls are compared by another package, whose
// changes have the subject kind Call.
//
// A description comes from a stranger: nothing is fetched, the work is bounded, and what cannot
// be decided is Risky, never Breaking. The same two snapshots give the same changes.
package diff

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
	"mcpc/internal/schema"
)

// A Snapshot is what a server declares, as it crossed. What is nil is not known, and is not
// compared; an empty list is known to be empty.
type Snapshot struct {
	// Implementation is the server's name and version ("Implementation").
	Implementation json.RawMessage
	// Revisions are those that the server speaks, as opaque texts.
	Revisions    []string
	Capabilities json.RawMessage
	// Instructions is a JSON string, or null where the server is known to have none.
	Instructions json.RawMessage
	// Authorization is whether the server asks for it.
	Authorization *bool

	// The entries of the server's lists.
	Tools, Prompts, Resources, Templates []json.RawMessage
	// TTL is ttlMs of each list by the member that has it ("tools", "prompts", "resources",
	// "resourceTemplates"), in milliseconds; a list without one has 0.
	TTL map[string]int64
	// Sorted is set where the lists are not in the server's order.
	Sorted bool
}

// Options are what a comparison may use. The zero Options are ready for use.
type Options struct {
	// Compile makes a function of a schema that reports whether it accepts a value. Without it
	// two forms of a schema that accept the same are not found to be equivalent.
	Compile schema.Compile
	// Signs gives the signs of poisoning in a text: a kind and what was found, as in
	// "url https://example.com". The kinds are hidden, instruction, secret and url; any other
	// is reported by the rule poison-text.
	Signs func(text string) []string
}

// Limits of one comparison.
const (
	maxSchemaBytes = 256 << 20 // of schemas, a byte once at each depth
	maxTriedForms  = 300       // forms that are tried with generated values
)

// Compare gives what changed from a to b, the gravest first.
func Compare(a, b Snapshot, o Options) []Change {
	if o.Signs == nil {
		o.Signs = func(string) []string { return nil }
	}
	c := &comparison{options: o, budget: schema.Budget{Bytes: maxSchemaBytes, Forms: maxTriedForms}, sorted: a.Sorted || b.Sorted}
	c.compareServer(a, b)
	for _, l := range []struct {
		kind, member string
		a, b         []json.RawMessage
	}{
		{Tool, "tools", a.Tools, b.Tools},
		{Prompt, "prompts", a.Prompts, b.Prompts},
		{Resource, "resources", a.Resources, b.Resources},
		{Template, "resourceTemplates", a.Templates, b.Templates},
	} {
		if l.a != nil && l.b != nil {
			c.compareList(l.kind, l.member, l.a, l.b)
		}
	}
	return Sorted(c.changes)
}

// CompareTool gives what changed in one tool: a and b are entries of tools/list.
func CompareTool(a, b json.RawMessage, o Options) []Change {
	return Compare(Snapshot{Tools: []json.RawMessage{a}}, Snapshot{Tools: []json.RawMessage{b}}, o)
}

type comparison struct {
	options Options
	budget  schema.Budget
	sorted  bool
	cells   int // of the word tables for renames
	changes []Change
}

// detail is what a change has beside its subject and its values.
type detail struct {
	place, note string
	// key stands for the pointer in the fingerprint.
	key string
}

// add appends a change; its rule must be in the table.
func (c *comparison) add(s Subject, rule, pointer string, was, is json.RawMessage, d detail) {
	r, known := RuleOf(rule)
	if !known {
		r = Rule{ID: rule, Level: Risky, Sentence: rule}
	}
	change := Change{Rule: r.ID, Level: r.Level, Subject: s, Pointer: pointer, Was: was, Is: is}
	change.Text = strings.NewReplacer("{place}", d.place, "{note}", d.note, "{was}", displayValue(was, "none"), "{is}", displayValue(is, "none")).Replace(r.Sentence)
	if d.key == "" {
		d.key = pointer
	}
	change.identify(d.key)
	c.changes = append(c.changes, change)
}

// displayText is a text of the server in a sentence.
func displayText(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), 120), sanitize.Signs)
}

// quoteOrNil makes a JSON string, and nil of "".
func quoteOrNil(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return jsonraw.Quote(text)
}
