package schema

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// Example gives a small value that should satisfy a schema: the required members,
// with the values that the schema itself names (const, examples, default, enum) or
// else simple ones within its limits. It is a guess: a caller validates it before it
// is shown. Any schema gets a value, in bounded time.
func Example(schema json.RawMessage) json.RawMessage {
	m := generator{left: 2000}
	return m.value(New(schema).Schema(), "", 0)
}

// Placeholder returns arguments for a tool of which no valid example is known: the
// required members, else all, at most 100, with values that the user fills in. The
// result is not JSON: each value is the bare word VALUE.
func Placeholder(schema json.RawMessage) json.RawMessage {
	properties := New(schema).Schema().Properties()
	if slices.ContainsFunc(properties, func(p Property) bool { return p.Required }) {
		properties = slices.DeleteFunc(properties, func(p Property) bool { return !p.Required })
	}
	if len(properties) == 0 {
		properties = []Property{{Name: "NAME"}}
	}
	var o jsonraw.Builder
	for _, p := range properties[:min(len(properties), 100)] {
		o.Raw(p.Name, json.RawMessage("VALUE"))
	}
	return o.Bytes()
}

// generator makes values; left bounds how many.
type generator struct{ left int }

const (
	maxMakeDepth = 24
	maxMakeItems = 50
	maxMakeText  = 1024
)

// value makes one of s for the member called name.
func (m *generator) value(s Schema, name string, depth int) json.RawMessage {
	if m.left--; m.left < 0 || depth > maxMakeDepth || s.doc.Exhausted() {
		return json.RawMessage("null")
	}
	s = withAlternative(s)
	types := s.Types()
	for _, v := range proposals(s) {
		if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return TypeOf(v)&TypeNamed(t) != 0 }) {
			return jsonraw.Compact(v)
		}
	}
	switch kindOf(s, types) {
	case "object":
		var o jsonraw.Builder
		for _, p := range s.Properties() {
			if p.Required {
				o.Raw(p.Name, m.value(p.Schema, p.Name, depth+1))
			}
		}
		return o.Bytes()
	case "array":
		return m.list(s, depth)
	case "string":
		return jsonraw.Quote(sampleText(s, name))
	case "integer", "number":
		return sampleNumber(s)
	case "boolean":
		return json.RawMessage("true")
	}
	return json.RawMessage("null")
}

// list has one item even where none is asked for, because a call with an empty list
// rarely shows anything.
func (m *generator) list(s Schema, depth int) json.RawMessage {
	first := s.List("prefixItems")
	item, _ := s.Item()
	least := count(s.First("minItems"), 0)
	n := max(least, 1)
	if least == 0 && item.IsCircular() {
		n = 0
	}
	var items []json.RawMessage
	for i := range min(n, count(s.First("maxItems"), n), maxMakeItems) {
		if i < len(first) {
			items = append(items, m.value(s.At(first[i]), "", depth+1))
		} else {
			items = append(items, m.value(item, "", depth+1))
		}
	}
	return jsonraw.List(items)
}

// withAlternative gives s with one alternative of its anyOf or oneOf as a part of its
// allOf: the first that is not null and can be followed.
func withAlternative(s Schema) Schema {
	options := s.Alternatives()
	if len(options) == 0 {
		return s
	}
	usable := func(o Schema) bool { return !o.IsCircular() && o.Unresolved == "" }
	i := slices.IndexFunc(options, func(o Schema) bool { return usable(o) && !slices.Equal(o.Types(), []string{"null"}) })
	if i < 0 {
		i = max(slices.IndexFunc(options, usable), 0)
	}
	parts := append([]json.RawMessage{options[i].Raw}, s.List("allOf")...)
	s.members = append(jsonraw.Members{{Name: "allOf", Value: jsonraw.List(parts)}}, s.members...)
	return s
}

// proposals are the values that a schema names itself, the surest first.
func proposals(s Schema) (values []json.RawMessage) {
	for _, keyword := range []string{"const", "examples", "example", "default", "enum"} {
		switch raw := s.First(keyword); {
		case raw == nil:
		case keyword == "examples" || keyword == "enum":
			values = append(values, s.doc.array(raw)...)
		default:
			values = append(values, raw)
		}
	}
	return values
}

// kindOf is the type to make: the first declared one that is not null, or what the
// keywords speak of.
func kindOf(s Schema, types []string) string {
	for _, t := range types {
		if t != "null" || len(types) == 1 {
			return t
		}
	}
	for _, hint := range [][2]string{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"prefixItems", "array"},
		{"minimum", "number"}, {"exclusiveMinimum", "number"}, {"maximum", "number"}, {"multipleOf", "number"}} {
		if s.First(hint[0]) != nil {
			return hint[1]
		}
	}
	return "string"
}

// sampleTexts are texts for the formats that JSON Schema names, and for members whose name
// says what they hold.
var sampleTexts = []struct{ format, word, text string }{
	{"date-time", "", "2026-01-31T12:00:00Z"}, {"date", "date", "2026-01-31"}, {"time", "", "12:00:00Z"}, {"duration", "", "P1D"},
	{"email", "email", "user@example.com"}, {"hostname", "", "example.com"}, {"ipv4", "", "192.0.2.1"}, {"ipv6", "", "2001:db8::1"},
	{"uri", "uri", "https://example.com/"}, {"url", "url", "https://example.com/"}, {"uri-reference", "", "/a"},
	{"uuid", "", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}, {"byte", "", "YQ=="},
	{"", "path", "."}, {"", "language", "en"}, {"", "city", "Paris"}, {"", "location", "Paris"},
}

func sampleText(s Schema, name string) string {
	least, most := count(s.First("minLength"), 0), count(s.First("maxLength"), maxMakeText)
	format, name := s.Text("format"), strings.ToLower(name)
	var texts []string
	for _, c := range sampleTexts {
		if c.format != "" && c.format == format {
			texts = append([]string{c.text}, texts...)
		} else if c.word != "" && strings.Contains(name, c.word) {
			texts = append(texts, c.text)
		}
	}
	pattern, err := regexp.Compile(s.Text("pattern"))
	for _, text := range append(texts, "example", "1", "a", "A", "aa", "AA") {
		if short := least - utf8.RuneCountInString(text); short > 0 {
			text += strings.Repeat(text[len(text)-1:], min(short, maxMakeText))
		}
		text = text[:min(len(text), most)] // all of them are ASCII
		if err == nil && pattern.MatchString(text) {
			return text
		}
	}
	return "example"
}

// sampleNumber takes the first of some simple numbers that the limits allow. In draft 4
// exclusiveMinimum is a flag next to minimum, from draft 6 on a number.
func sampleNumber(s Schema) json.RawMessage {
	bound := func(name, exclusive string, none float64) (raw json.RawMessage, limit float64, open bool) {
		raw, limit, open = s.First(name), none, string(s.First(exclusive)) == "true"
		if _, ok := jsonraw.Float(s.First(exclusive)); ok {
			raw, open = s.First(exclusive), true
		}
		if v, ok := jsonraw.Float(raw); ok {
			limit = v
		}
		return raw, limit, open
	}
	lowest, low, lowOpen := bound("minimum", "exclusiveMinimum", math.Inf(-1))
	highest, high, highOpen := bound("maximum", "exclusiveMaximum", math.Inf(1))
	step, stepped := jsonraw.Float(s.First("multipleOf"))
	if !stepped || step <= 0 {
		step = 1
	}
	for _, n := range []float64{1, step, 0, low, high, step * math.Ceil(low/step), step * math.Floor(high/step), low + 1, high - 1, (low + high) / 2} {
		switch {
		case math.IsInf(n, 0), !(n >= low && n <= high), n == low && lowOpen, n == high && highOpen, stepped && n/step != math.Trunc(n/step):
		case n == low:
			return lowest // with all of its digits
		case n == high:
			return highest
		default:
			return strconv.AppendFloat(nil, n, 'f', -1, 64)
		}
	}
	return json.RawMessage("1")
}

// count is a small natural number, or other.
func count(raw json.RawMessage, other int) int {
	if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 {
		return n
	}
	return other
}
