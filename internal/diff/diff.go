// Package diff compares two descriptions of an MCP server. It returns one Change per difference,
// with a rule and a level. Direction matters: a server may accept more than before, but it must
// not send more than before.
//
// The package compares declarations only. Package cli/diff compares recorded calls; their changes
// have the subject kind Call.
//
// Descriptions are untrusted: nothing is fetched, the work is bounded, and an undecidable
// difference is Risky, never Breaking. The same two snapshots always give the same changes.
package diff

import (
	"encoding/json"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sanitize"
	"mcpc/internal/schema"
)

// A Snapshot holds what a server declares, in the server's own JSON. A nil field is unknown and
// not compared; an empty list is known to be empty.
type Snapshot struct {
	// Implementation is the server's name and version (the specification's "Implementation").
	Implementation json.RawMessage
	// Revisions are the protocol revisions that the server supports. Their order has no meaning.
	Revisions    []string
	Capabilities json.RawMessage
	// Instructions is a JSON string, or null if the server is known to have no instructions.
	Instructions json.RawMessage
	// Authorization says whether the server requires authorization.
	Authorization *bool

	// Tools, Prompts, Resources and Templates are the entries of the server's lists.
	Tools, Prompts, Resources, Templates []json.RawMessage
	// TTL maps the member name of a list ("tools", "prompts", "resources", "resourceTemplates")
	// to the ttlMs of its result, in milliseconds. A list without ttlMs has 0.
	TTL map[string]int64
	// Sorted is set if the lists are not in the server's order.
	Sorted bool
}

// Options configure a comparison. The zero value is ready for use.
type Options struct {
	// Compile compiles a schema to a function that reports whether the schema accepts a value.
	// If Compile is nil, differently written schemas are never found to be equivalent.
	Compile schema.Compile
	// Signs returns the signs of poisoning in a text. A sign is a kind, a space and the suspicious
	// text, such as "url https://example.com". The kinds are hidden, instruction, secret and url;
	// the rule poison-text reports all other kinds.
	Signs func(text string) []string
}

// Limits of one comparison.
const (
	maxSchemaBytes = 256 << 20 // of schemas, a byte once at each depth
	maxTriedForms  = 300       // forms that are tried with generated values
)

// Compare returns the changes from a to b, the most severe first.
func Compare(a, b Snapshot, o Options) []Change {
	if o.Signs == nil {
		o.Signs = func(string) []string { return nil }
	}
	c := &comparison{
		options: o,
		budget:  schema.Budget{Bytes: maxSchemaBytes, Forms: maxTriedForms},
		sorted:  a.Sorted || b.Sorted,
	}
	c.compareServer(a, b)
	for _, list := range []struct {
		kind, member string
		a, b         []json.RawMessage
	}{
		{Tool, "tools", a.Tools, b.Tools},
		{Prompt, "prompts", a.Prompts, b.Prompts},
		{Resource, "resources", a.Resources, b.Resources},
		{Template, "resourceTemplates", a.Templates, b.Templates},
	} {
		if list.a != nil && list.b != nil {
			c.compareList(list.kind, list.member, list.a, list.b)
		}
	}
	return Sorted(c.changes)
}

// CompareTool returns the changes of one tool. a and b are entries of tools/list.
func CompareTool(a, b json.RawMessage, o Options) []Change {
	return Compare(Snapshot{Tools: []json.RawMessage{a}}, Snapshot{Tools: []json.RawMessage{b}}, o)
}

// A comparison collects the changes between two snapshots.
type comparison struct {
	options Options
	budget  schema.Budget
	sorted  bool // at least one snapshot is not in the server's order
	// cellsUsed counts the work spent on finding renames, in cells of the word tables.
	cellsUsed int
	changes   []Change
}

// A detail completes the sentence and the fingerprint of a change.
type detail struct {
	place, note string // replace {place} and {note} in the sentence
	// key replaces the pointer in the fingerprint, unless it is empty.
	key string
}

// add appends a change. A rule that is not in Rules becomes a Risky change whose text is the
// rule's id.
func (c *comparison) add(s Subject, rule, pointer string, was, is json.RawMessage, d detail) {
	found, isKnown := RuleOf(rule)
	if !isKnown {
		found = Rule{ID: rule, Level: Risky, Sentence: rule}
	}
	change := Change{Rule: found.ID, Level: found.Level, Subject: s, Pointer: pointer, Was: was, Is: is}
	change.Text = strings.NewReplacer(
		"{place}", d.place,
		"{note}", d.note,
		"{was}", displayValue(was, "none"),
		"{is}", displayValue(is, "none"),
	).Replace(found.Sentence)
	if d.key == "" {
		d.key = pointer
	}
	change.identify(d.key)
	c.changes = append(c.changes, change)
}

// displayText returns a text of the server as one short line that is safe to show.
func displayText(text string) string {
	return sanitize.Line(jsonraw.Excerpt([]byte(text), 120), sanitize.Signs)
}

// quoteOrNil returns text as a JSON string, or nil if text is empty.
func quoteOrNil(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return jsonraw.Quote(text)
}
