package render

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
)

// maxTypeDepth is how deeply a type nests within the one line that names it.
const maxTypeDepth = 4

// typeText names what s takes, in a notation that programmers share: number,
// string[], "a"|"b", string|null. At most choices values of an enum are named.
func (st Style) typeText(s schema, choices, depth int) string {
	if string(s.raw) == "false" {
		return "nothing"
	}
	if depth > maxTypeDepth || s.doc.spent() {
		return "any"
	}
	if value := s.first("const"); value != nil {
		return st.value(value)
	}
	if values := s.list("enum"); values != nil {
		return st.choice(values, choices)
	}
	types := s.types()
	if types == nil {
		types = st.implied(s, choices, depth)
	}
	for i, t := range types {
		if t == "array" {
			types[i] = st.arrayText(s, choices, depth)
		} else {
			types[i] = st.Line(t)
		}
	}
	return strings.Join(types, "|")
}

// implied names the type of a schema that declares none.
func (st Style) implied(s schema, choices, depth int) []string {
	var types []string
	for _, option := range s.alternatives() {
		if option.circular() {
			continue
		}
		if t := st.typeText(option, choices, depth+1); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	switch {
	case len(types) > choices:
		return append(types[:choices], st.ellipsis())
	case len(types) > 0:
		return types
	case s.first("properties") != nil:
		return []string{"object"}
	case s.first("items") != nil:
		return []string{"array"}
	}
	return []string{"any"}
}

func (st Style) arrayText(s schema, choices, depth int) string {
	item, ok := s.item()
	if !ok {
		return "array"
	}
	text := "object" // what is described by its own description mostly is
	if !item.circular() {
		text = st.typeText(item, choices, depth+1)
	}
	switch {
	case text == "any":
		return "array"
	case strings.ContainsAny(text, "| ") && !strings.HasSuffix(text, ")[]"):
		return "(" + text + ")[]"
	}
	return text + "[]"
}

func (st Style) choice(values []json.RawMessage, choices int) string {
	var said []string
	for i, v := range values {
		if i >= choices {
			said = append(said, st.shortTail(len(values)-i))
			break
		}
		said = append(said, st.value(v))
	}
	return strings.Join(said, "|")
}

// value is a JSON value within a line that has room for little.
func (st Style) value(raw json.RawMessage) string {
	if st.watched() {
		return st.shown(raw, 60)
	}
	return st.shown(raw, 1000)
}

// shown is a JSON value on one line, cut to width columns.
func (st Style) shown(raw json.RawMessage, width int) string {
	if text, ok := jsonraw.Text(raw); ok {
		raw = jsonraw.Quote(text)
	}
	return st.cut(st.Line(string(escapeHidden(jsonraw.Compact(raw)))), width)
}

// parameter is one entry of a signature, from the whole of it to its name:
// b?: string="x", b?: string, b?.
type parameter [3]string

// parameters are the arguments that a schema declares. At most choices values of an
// enum are named.
func (st Style) parameters(raw json.RawMessage, choices int) (all []parameter) {
	for _, p := range newDocument(raw).schema().properties() {
		all = append(all, st.parameter(p, choices))
	}
	return all
}

func (st Style) parameter(p property, choices int) parameter {
	name := st.Line(p.name)
	if !p.required {
		name += "?"
	}
	typed := name + ": " + st.typeText(p.schema, choices, 0)
	whole := typed
	if value := p.schema.first("default"); value != nil {
		whole += "=" + st.value(value)
	}
	return parameter{whole, typed, name}
}

// joined writes parameters in one of their forms.
func joined(params []parameter, form int) string {
	texts := make([]string, len(params))
	for i, p := range params {
		texts[i] = p[form]
	}
	return strings.Join(texts, ", ")
}

// lines writes all of params into lines of width columns, none of them broken.
func (st Style) lines(params []parameter, width int) []string {
	var lines []string
	for i, p := range params {
		text := p[0]
		if i < len(params)-1 {
			text += ","
		}
		last := len(lines) - 1
		if last >= 0 && columns(lines[last])+1+columns(text) <= width {
			lines[last] += " " + text
		} else {
			lines = append(lines, text)
		}
	}
	return lines
}

// signature writes params into width columns: whole, without defaults, or the
// names alone; then as many names as fit and the number of the others.
func (st Style) signature(params []parameter, width int) string {
	for form := range 3 {
		if text := joined(params, form); columns(text) <= width {
			return text
		}
	}
	for n := len(params) - 1; n > 0; n-- {
		text := joined(params[:n], 2) + ", " + st.ellipsis() + " +" + english.Plural(len(params)-n, "arg")
		if columns(text) <= width {
			return text
		}
	}
	return st.cut(joined(params, 2), width)
}
