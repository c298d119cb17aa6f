package render

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/schema"
)

// maxTypeDepth is how deeply a type nests within one line.
const maxTypeDepth = 4

// maxChoices is how many values of an enum are named if there is room.
const maxChoices = 100

// typeText returns the type of a value that s accepts, in a common notation: number, string[],
// "a"|"b", string|null. It names at most choices values of an enum. depth counts the types around
// it, 0 if it is a whole field; a type below maxTypeDepth is "any".
func typeText(st term.Style, s schema.Schema, choices, depth int) string {
	if string(s.Raw) == "false" {
		return "nothing"
	}
	if depth > maxTypeDepth || s.Document().Exhausted() {
		return "any"
	}
	if value := s.First("const"); value != nil {
		return shortValue(st, value)
	}
	if values := s.List("enum"); values != nil {
		return enumText(st, values, choices)
	}
	types := s.Types()
	if types == nil {
		types = impliedTypes(st, s, choices, depth)
	}
	for i, t := range types {
		if t == "array" {
			types[i] = arrayText(st, s, choices, depth)
		} else {
			types[i] = st.Line(t)
		}
	}
	return strings.Join(types, "|")
}

// impliedTypes returns the types of a schema without a type keyword: the types of its alternatives,
// else the type that its keywords apply to, else "any".
func impliedTypes(st term.Style, s schema.Schema, choices, depth int) []string {
	var types []string
	for _, option := range s.Alternatives() {
		if option.IsCircular() { // it adds no type that the other alternatives do not have
			continue
		}
		if t := typeText(st, option, choices, depth+1); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) > choices {
		return append(types[:choices], st.Ellipsis())
	}
	if len(types) > 0 {
		return types
	}
	if s.First("properties") != nil {
		return []string{"object"}
	}
	if s.First("items") != nil {
		return []string{"array"}
	}
	return []string{"any"}
}

// arrayText returns the type of an array: string[], or "array" if its items are unknown.
func arrayText(st term.Style, s schema.Schema, choices, depth int) string {
	item, ok := s.Item()
	if !ok {
		return "array"
	}
	text := "object" // a circular item is nearly always an object
	if !item.IsCircular() {
		text = typeText(st, item, choices, depth+1)
	}
	return arrayOf(text)
}

func arrayOf(text string) string {
	if text == "any" {
		return "array"
	}
	if strings.ContainsAny(text, "| ") && !strings.HasSuffix(text, ")[]") { // (a|b)[] has its brackets already
		return "(" + text + ")[]"
	}
	return text + "[]"
}

// enumText joins at most choices values of an enum with |.
func enumText(st term.Style, values []json.RawMessage, choices int) string {
	var texts []string
	for i, v := range values {
		if i >= choices {
			texts = append(texts, st.More(len(values)-i))
			break
		}
		texts = append(texts, shortValue(st, v))
	}
	return strings.Join(texts, "|")
}

// shortValue returns a JSON value for use within a line; at most 60 columns for a reader.
func shortValue(st term.Style, raw json.RawMessage) string {
	if st.Pretty() {
		return valueLine(st, raw, 60)
	}
	return valueLine(st, raw, 1000)
}

// valueLine returns a JSON value on one line, cut to width columns.
func valueLine(st term.Style, raw json.RawMessage, width int) string {
	if text, ok := jsonraw.Text(raw); ok {
		raw = jsonraw.Quote(text)
	}
	return st.Cut(st.Line(string(term.EscapeHidden(jsonraw.Compact(raw)))), width)
}

// parameter is one entry of a signature in three forms.
type parameter [3]string

// The forms of a parameter.
const (
	wholeForm = iota // b?: string="x"
	typedForm        // b?: string
	nameForm         // b?
)

// schemaParameters returns the arguments that a schema declares. It names at most choices values of
// an enum.
func schemaParameters(st term.Style, raw json.RawMessage, choices int) []parameter {
	var all []parameter
	for _, p := range schema.New(raw).Schema().Properties() {
		name := st.Line(p.Name)
		if !p.Required {
			name += "?"
		}
		typed := name + ": " + typeText(st, p.Schema, choices, 0)
		whole := typed
		if value := p.Schema.First("default"); value != nil {
			whole += "=" + shortValue(st, value)
		}
		all = append(all, parameter{wholeForm: whole, typedForm: typed, nameForm: name})
	}
	return all
}
