package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/render/term"
)

// fields writes a schema as lines: a member's name, type and constraints, what
// it is for, and below it its own members.
type fields struct {
	*term.Outline
	doc   *document
	lines int
}

// The ends of what is shown of one schema: deeper or longer, the JSON reads
// better.
const (
	maxFieldDepth = 10
	maxFields     = 2000
)

// Write writes a schema as lines; empty is said of an object without members.
func Write(s *term.Outline, raw json.RawMessage, empty string) {
	doc := newDocument(raw)
	root := doc.schema()
	f := fields{Outline: s, doc: doc}
	if types := root.types(); len(types) == 1 && types[0] == "object" && len(root.alternatives()) == 0 {
		if !f.members(root, 1) {
			if string(root.get("additionalProperties")) != "false" {
				empty += " declared"
			}
			s.Line(1, empty)
		}
	} else {
		f.field("", root, false, 1)
	}
	if doc.exhausted() {
		s.Line(1, "(the schema is too large to show in full: use --json)")
	}
}

// members writes the members of an object and says whether there were any.
func (f *fields) members(s schema, depth int) bool {
	any := false
	for _, p := range s.properties() {
		any = true
		f.field(f.Style.Line(p.name), p.schema, p.required, depth)
	}
	for _, m := range f.doc.object(s.get("patternProperties")) {
		any = true
		f.field("[names matching "+f.Style.Line(m.Name)+"]", s.at(m.Value), false, depth)
	}
	if more := s.get("additionalProperties"); len(more) > 0 && more[0] == '{' {
		any = true
		f.field("[other names]", s.at(more), false, depth)
	}
	return any
}

// field writes one field and what is below it. Its name is sanitized already.
func (f *fields) field(name string, s schema, required bool, depth int) {
	if f.lines++; f.lines > maxFields {
		if f.lines == maxFields+1 {
			f.Line(depth, f.Style.Ellipsis()+" (more fields: use --json)")
		}
		return
	}
	f.Wrapped(depth, f.head(name, s, required))
	f.Prose(depth+2, s.text("description"))
	switch {
	case s.unresolved != "":
		f.Line(depth+2, "(cannot follow $ref "+f.Style.Cut(f.Style.Line(s.unresolved), 60)+")")
	case s.circular():
		f.Line(depth+2, "(as above: "+f.Style.Cut(f.Style.Line(s.refs[len(s.refs)-1]), 60)+")")
	case depth >= maxFieldDepth:
		f.Line(depth+2, f.Style.Ellipsis()+" (nested deeper: use --json)")
	default:
		f.below(s, depth)
	}
}

// head is the line that names a member: its type, required, default, limits.
func (f *fields) head(name string, s schema, required bool) string {
	text := typeText(f.Style, s, 100, 0)
	if name != "" {
		text = f.Style.Paint(term.Cyan, name) + ": " + text
	}
	if value := s.first("default"); value != nil {
		text += " = " + f.value(value)
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

// below writes what nests in s: members, the items of an array, alternatives.
func (f *fields) below(s schema, depth int) {
	f.members(s, depth+1)
	if item, ok := s.item(); ok {
		f.item(item, depth)
	}
	options := s.alternatives()
	if !worthListing(options) {
		return
	}
	for i, option := range options {
		f.field(fmt.Sprintf("%s %d", "alternative", i+1), option, false, depth+1)
	}
}

// item writes what the type of an array leaves open about its items.
func (f *fields) item(item schema, depth int) {
	switch {
	case item.circular() || item.unresolved != "" || worthListing(item.alternatives()) ||
		item.text("description") != "" || len(f.constraints(item)) > 0:
		f.field("[each]", item, false, depth+1)
	default:
		f.members(item, depth+1)
	}
}

// worthListing says whether alternatives hold more than their types, which the
// line above them names.
func worthListing(options []schema) bool {
	for _, o := range options {
		if o.get("properties") != nil || o.get("required") != nil || o.get("description") != nil || o.get("items") != nil {
			return true
		}
	}
	return false
}

// wordedFormats are the formats whose name says enough: libraries add a long pattern to them.
var wordedFormats = []string{"date", "date-time", "time", "duration", "email", "uuid", "ipv4", "ipv6", "uri"}

// constraints are the limits on a value, in words.
func (f *fields) constraints(s schema) []string {
	var notes []string
	add := func(note string) {
		if note != "" {
			notes = append(notes, note)
		}
	}
	add(f.Style.Line(s.text("format")))
	add(f.between(s, "minLength", "maxLength", "character"))
	if pattern := s.text("pattern"); pattern != "" && !slices.Contains(wordedFormats, s.text("format")) {
		add("matches " + f.Style.Cut(f.Style.Line(pattern), 80))
	}
	add(f.prefixed(s, "minimum", ">= "))
	add(f.prefixed(s, "exclusiveMinimum", "> "))
	add(f.prefixed(s, "maximum", "<= "))
	add(f.prefixed(s, "exclusiveMaximum", "< "))
	add(f.prefixed(s, "multipleOf", "a multiple of "))
	add(f.between(s, "minItems", "maxItems", "item"))
	add(f.between(s, "minProperties", "maxProperties", "member"))
	if string(s.first("uniqueItems")) == "true" {
		add("all different")
	}
	if string(s.first("additionalProperties")) == "false" && s.first("properties") != nil {
		add("no other members")
	}
	if string(s.first("deprecated")) == "true" {
		add("deprecated")
	}
	if examples := s.list("examples"); len(examples) > 0 {
		add("for example " + f.value(examples[0]))
	}
	add(f.unsaid(s))
	return notes
}

// value has the room that a list has not, and no end either.
func (f *fields) value(raw json.RawMessage) string { return Value(f.Style, raw, 1000) }

// between says a lower and an upper count in the fewest words.
func (f *fields) between(s schema, low, high, noun string) string {
	least, most := s.first(low), s.first(high)
	switch {
	case least != nil && string(least) == string(most):
		return f.counted(least, noun)
	case least != nil && string(least) != "0" && most != nil:
		return f.value(least) + " to " + f.counted(most, noun)
	case most != nil:
		return "at most " + f.counted(most, noun)
	case least != nil && string(least) != "0":
		return "at least " + f.counted(least, noun)
	}
	return ""
}

func (f *fields) counted(n json.RawMessage, noun string) string {
	if string(n) != "1" {
		noun += "s"
	}
	return f.value(n) + " " + noun
}

// prefixed says a limit on a number. Draft 4 wrote exclusiveMinimum as a flag.
func (f *fields) prefixed(s schema, name, words string) string {
	value := s.first(name)
	switch string(value) {
	case "", "false":
		return ""
	case "true":
		return name
	}
	return words + f.value(value)
}

// unsaid names the keywords that bind a value and are not shown here.
func (f *fields) unsaid(s schema) string {
	var names []string
	for _, name := range []string{"not", "if", "dependentRequired", "dependentSchemas", "dependencies",
		"propertyNames", "contains", "prefixItems", "unevaluatedProperties"} {
		if s.get(name) != nil {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "and more: " + strings.Join(names, ", ") + " in --json"
}
