package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
)

// maxTypeDepth is how deeply a type nests within the one line that names it.
const maxTypeDepth = 4

// typeText names what s takes, in a notation that programmers share: number,
// string[], "a"|"b", string|null. At most choices values of an enum are named.
func typeText(st term.Style, s schema, choices, depth int) string {
	if string(s.raw) == "false" {
		return "nothing"
	}
	if depth > maxTypeDepth || s.doc.exhausted() {
		return "any"
	}
	if value := s.first("const"); value != nil {
		return shortValue(st, value)
	}
	if values := s.list("enum"); values != nil {
		return choice(st, values, choices)
	}
	types := s.types()
	if types == nil {
		types = implied(st, s, choices, depth)
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

// implied names the type of a schema that declares none.
func implied(st term.Style, s schema, choices, depth int) []string {
	var types []string
	for _, option := range s.alternatives() {
		if option.circular() {
			continue
		}
		if t := typeText(st, option, choices, depth+1); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	switch {
	case len(types) > choices:
		return append(types[:choices], st.Ellipsis())
	case len(types) > 0:
		return types
	case s.first("properties") != nil:
		return []string{"object"}
	case s.first("items") != nil:
		return []string{"array"}
	}
	return []string{"any"}
}

func arrayText(st term.Style, s schema, choices, depth int) string {
	item, ok := s.item()
	if !ok {
		return "array"
	}
	text := "object" // what is described by its own description mostly is
	if !item.circular() {
		text = typeText(st, item, choices, depth+1)
	}
	return arrayOf(text)
}

func arrayOf(text string) string {
	switch {
	case text == "any":
		return "array"
	case strings.ContainsAny(text, "| ") && !strings.HasSuffix(text, ")[]"):
		return "(" + text + ")[]"
	}
	return text + "[]"
}

func choice(st term.Style, values []json.RawMessage, choices int) string {
	var said []string
	for i, v := range values {
		if i >= choices {
			said = append(said, st.More(len(values)-i))
			break
		}
		said = append(said, shortValue(st, v))
	}
	return strings.Join(said, "|")
}

// shortValue is a JSON value within a line that has room for little.
func shortValue(st term.Style, raw json.RawMessage) string {
	if st.Pretty() {
		return Value(st, raw, 60)
	}
	return Value(st, raw, 1000)
}

// Value is a JSON value on one line, cut to width columns.
func Value(st term.Style, raw json.RawMessage, width int) string {
	if text, ok := jsonraw.Text(raw); ok {
		raw = jsonraw.Quote(text)
	}
	return st.Cut(st.Line(string(term.EscapeHidden(jsonraw.Compact(raw)))), width)
}

// Parameter is one entry of a signature, from the whole of it to its name:
// b?: string="x", b?: string, b?.
type Parameter [3]string

// Parameters are the arguments that a schema declares. At most choices values of an
// enum are named.
func Parameters(st term.Style, raw json.RawMessage, choices int) (all []Parameter) {
	for _, p := range newDocument(raw).schema().properties() {
		name := st.Line(p.name)
		if !p.required {
			name += "?"
		}
		typed := name + ": " + typeText(st, p.schema, choices, 0)
		whole := typed
		if value := p.schema.first("default"); value != nil {
			whole += "=" + shortValue(st, value)
		}
		all = append(all, Parameter{whole, typed, name})
	}
	return all
}
