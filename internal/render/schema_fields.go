package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/render/term"
	"mcpc/internal/schema"
)

// fields writes a schema as lines: a member's name, type and constraints, its description, and
// below it its own members.
type fields struct {
	*term.Outline
	doc   *schema.Document
	lines int
}

// The limits of one schema: deeper or longer, the JSON reads better.
const (
	maxFieldDepth = 10
	maxFields     = 2000
)

// optional is the argument required of writeField for fields other than properties.
const optional = false

// writeSchema writes a schema as lines. noMembers is the line for an object without members.
func writeSchema(s *term.Outline, raw json.RawMessage, noMembers string) {
	doc := schema.New(raw)
	root := doc.Schema()
	f := fields{Outline: s, doc: doc}
	types := root.Types()
	isObject := len(types) == 1 && types[0] == "object" && len(root.Alternatives()) == 0
	if !isObject {
		f.writeField("", root, optional, 1)
	} else if hasMembers := f.writeMembers(root, 1); !hasMembers {
		if string(root.Get("additionalProperties")) != "false" { // it may have any members
			noMembers += " declared"
		}
		s.Line(1, noMembers)
	}
	if doc.Exhausted() {
		s.Line(1, "(the schema is too large to show in full: use --json)")
	}
}

// writeMembers writes the members of an object and reports whether there are any.
func (f *fields) writeMembers(s schema.Schema, depth int) bool {
	found := false
	for _, p := range s.Properties() {
		found = true
		f.writeField(f.Style.Line(p.Name), p.Schema, p.Required, depth)
	}
	for _, m := range s.Members("patternProperties") {
		found = true
		f.writeField("[names matching "+f.Style.Line(m.Name)+"]", s.At(m.Value), optional, depth)
	}
	otherNames := s.Get("additionalProperties")
	if len(otherNames) > 0 && otherNames[0] == '{' { // a schema, not true or false
		found = true
		f.writeField("[other names]", s.At(otherNames), optional, depth)
	}
	return found
}

// writeField writes one field and its members. Its name is sanitized already, and "" if the field
// is the schema itself. depth is the level of indentation.
func (f *fields) writeField(name string, s schema.Schema, required bool, depth int) {
	f.lines++
	if f.lines > maxFields {
		if f.lines == maxFields+1 {
			f.Line(depth, f.Style.Ellipsis()+" (more fields: use --json)")
		}
		return
	}
	f.Wrapped(depth, f.fieldHead(name, s, required))
	f.Prose(depth+2, s.Text("description"))
	switch {
	case s.Unresolved != "":
		f.Line(depth+2, "(cannot follow $ref "+f.Style.Cut(f.Style.Line(s.Unresolved), 60)+")")
	case s.IsCircular():
		f.Line(depth+2, "(as above: "+f.Style.Cut(f.Style.Line(s.Ref()), 60)+")")
	case depth >= maxFieldDepth:
		f.Line(depth+2, f.Style.Ellipsis()+" (nested deeper: use --json)")
	default:
		f.writeNested(s, depth)
	}
}

// fieldHead returns the line that names a member: its type, default, required and limits.
func (f *fields) fieldHead(name string, s schema.Schema, required bool) string {
	text := typeText(f.Style, s, maxChoices, 0)
	if name != "" {
		text = f.Style.Paint(term.Cyan, name) + ": " + text
	}
	if value := s.First("default"); value != nil {
		text += " = " + f.valueText(value)
	}
	notes := f.constraints(s)
	if required {
		notes = append([]string{"required"}, notes...)
	}
	if len(notes) > 0 {
		text += "  (" + strings.Join(notes, ", ") + ")"
	}
	return text
}

// writeNested writes the parts of s: members, the items of an array, alternatives.
func (f *fields) writeNested(s schema.Schema, depth int) {
	f.writeMembers(s, depth+1)
	if item, ok := s.Item(); ok {
		f.writeItem(item, depth)
	}
	options := s.Alternatives()
	if !haveDetails(options) {
		return
	}
	for i, option := range options {
		f.writeField(fmt.Sprintf("alternative %d", i+1), option, optional, depth+1)
	}
}

// writeItem writes the items of an array if they have more than a type.
func (f *fields) writeItem(item schema.Schema, depth int) {
	cannotFollow := item.IsCircular() || item.Unresolved != ""
	hasText := item.Text("description") != "" || len(f.constraints(item)) > 0
	if cannotFollow || hasText || haveDetails(item.Alternatives()) {
		f.writeField("[each]", item, optional, depth+1)
	} else {
		f.writeMembers(item, depth+1) // the type of the array names the type of the items
	}
}

// haveDetails reports whether alternatives say more than their types, which the line above them
// names.
func haveDetails(options []schema.Schema) bool {
	for _, o := range options {
		if o.Get("properties") != nil || o.Get("required") != nil || o.Get("description") != nil || o.Get("items") != nil {
			return true
		}
	}
	return false
}

// wordedFormats are formats with a clear name: their pattern, often long, is not shown.
var wordedFormats = []string{"date", "date-time", "time", "duration", "email", "uuid", "ipv4", "ipv6", "uri"}

// constraints returns the limits on a value, in words.
func (f *fields) constraints(s schema.Schema) []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	add(f.Style.Line(s.Text("format")))
	add(f.rangeText(s, "minLength", "maxLength", "character"))
	if pattern := s.Text("pattern"); pattern != "" && !slices.Contains(wordedFormats, s.Text("format")) {
		add("matches " + f.Style.Cut(f.Style.Line(pattern), 80))
	}
	add(f.limitText(s, "minimum", ">= "))
	add(f.limitText(s, "exclusiveMinimum", "> "))
	add(f.limitText(s, "maximum", "<= "))
	add(f.limitText(s, "exclusiveMaximum", "< "))
	add(f.limitText(s, "multipleOf", "a multiple of "))
	add(f.rangeText(s, "minItems", "maxItems", "item"))
	add(f.rangeText(s, "minProperties", "maxProperties", "member"))
	if string(s.First("uniqueItems")) == "true" {
		add("all different")
	}
	if string(s.First("additionalProperties")) == "false" && s.First("properties") != nil {
		add("no other members")
	}
	if string(s.First("deprecated")) == "true" {
		add("deprecated")
	}
	if examples := s.List("examples"); len(examples) > 0 {
		add("for example " + f.valueText(examples[0]))
	}
	add(f.omittedKeywords(s))
	return notes
}

// valueText returns a JSON value on one line, cut only if it is very long.
func (f *fields) valueText(raw json.RawMessage) string { return valueLine(f.Style, raw, 1000) }

// rangeText returns a lower and an upper count in words, or "".
func (f *fields) rangeText(s schema.Schema, low, high, noun string) string {
	least := s.First(low) // nil if there is no such keyword; "0" limits nothing
	most := s.First(high)
	if least != nil && string(least) == string(most) {
		return f.countText(least, noun)
	}
	if least != nil && string(least) != "0" && most != nil {
		return f.valueText(least) + " to " + f.countText(most, noun)
	}
	if most != nil {
		return "at most " + f.countText(most, noun)
	}
	if least != nil && string(least) != "0" {
		return "at least " + f.countText(least, noun)
	}
	return ""
}

func (f *fields) countText(n json.RawMessage, noun string) string {
	if string(n) != "1" {
		noun += "s"
	}
	return f.valueText(n) + " " + noun
}

// limitText returns a limit on a number, or "" without a limit. In draft 4 exclusiveMinimum is a
// boolean that changes the meaning of minimum; limitText then returns its name.
func (f *fields) limitText(s schema.Schema, name, words string) string {
	value := s.First(name)
	switch string(value) {
	case "", "false":
		return ""
	case "true":
		return name
	}
	return words + f.valueText(value)
}

// omittedKeywords names the keywords that limit a value but are not shown, or returns "".
func (f *fields) omittedKeywords(s schema.Schema) string {
	var names []string
	for _, name := range []string{
		"not", "if", "dependentRequired", "dependentSchemas", "dependencies",
		"propertyNames", "contains", "prefixItems", "unevaluatedProperties",
	} {
		if s.Get(name) != nil {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "and more: " + strings.Join(names, ", ") + " in --json"
}
