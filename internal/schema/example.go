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

// Example returns a small value that should satisfy a schema: the required members, with values
// that the schema names (const, examples, default, enum) or simple values within its limits. The
// value may be invalid; the caller validates it. Any schema gets a value, in bounded time.
func Example(schema json.RawMessage) json.RawMessage {
	m := generator{valuesLeft: 2000}
	return m.makeValue(New(schema).Schema(), "", 0)
}

// Example returns a value as the function Example does, for the member called name. A schema with a
// reference to itself gets a value, too.
func (s Schema) Example(name string) json.RawMessage {
	m := generator{valuesLeft: 2000}
	return m.makeValue(s, name, 0)
}

// Placeholder returns arguments for a tool without a valid example: at most 100 of the required
// members, or of all members if no member is required. The result is not JSON: each value is the
// bare word VALUE, for the user to replace.
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

// A generator makes example values. valuesLeft is how many it may still make.
type generator struct{ valuesLeft int }

const (
	maxMakeDepth = 24
	maxMakeItems = 50
	maxMakeText  = 1024
)

// makeValue returns a value of s for the member called name.
func (m *generator) makeValue(s Schema, name string, depth int) json.RawMessage {
	m.valuesLeft--
	if m.valuesLeft < 0 || depth > maxMakeDepth || s.doc.Exhausted() {
		return json.RawMessage("null")
	}
	s = withAlternative(s)
	types := s.Types()
	for _, v := range proposals(s) {
		hasType := func(t string) bool { return TypeOf(v)&TypeNamed(t) != 0 }
		if len(types) == 0 || slices.ContainsFunc(types, hasType) {
			return jsonraw.Compact(v)
		}
	}
	switch kindOf(s, types) {
	case "object":
		var o jsonraw.Builder
		for _, p := range s.Properties() {
			if p.Required {
				o.Raw(p.Name, m.makeValue(p.Schema, p.Name, depth+1))
			}
		}
		return o.Bytes()
	case "array":
		return m.makeList(s, depth)
	case "string":
		return jsonraw.Quote(sampleText(s, name))
	case "integer", "number":
		return sampleNumber(s)
	case "boolean":
		return json.RawMessage("true")
	}
	return json.RawMessage("null")
}

// makeList returns an array. It has an item even if the schema requires no item, because a call
// with an empty array rarely shows anything.
func (m *generator) makeList(s Schema, depth int) json.RawMessage {
	first := s.List("prefixItems")
	item, _ := s.Item()
	minItems := naturalNumber(s.First("minItems"), 0)
	n := max(minItems, 1)
	if minItems == 0 && item.IsCircular() {
		n = 0
	}
	var items []json.RawMessage
	for i := range min(n, naturalNumber(s.First("maxItems"), n), maxMakeItems) {
		if i < len(first) {
			items = append(items, m.makeValue(s.At(first[i]), "", depth+1))
		} else {
			items = append(items, m.makeValue(item, "", depth+1))
		}
	}
	return jsonraw.List(items)
}

// withAlternative returns s with one alternative of its anyOf or oneOf added to its allOf: the
// first that is not null and can be resolved.
func withAlternative(s Schema) Schema {
	options := s.Alternatives()
	if len(options) == 0 {
		return s
	}
	usable := func(o Schema) bool { return !o.IsCircular() && o.Unresolved == "" }
	i := slices.IndexFunc(options, func(o Schema) bool {
		return usable(o) && !slices.Equal(o.Types(), []string{"null"})
	})
	if i < 0 {
		i = max(slices.IndexFunc(options, usable), 0)
	}
	parts := append([]json.RawMessage{options[i].Raw}, s.List("allOf")...)
	s.members = append(jsonraw.Members{{Name: "allOf", Value: jsonraw.List(parts)}}, s.members...)
	return s
}

// proposals returns the values that a schema itself names, the most reliable first.
func proposals(s Schema) []json.RawMessage {
	var values []json.RawMessage
	for _, keyword := range []string{"const", "examples", "example", "default", "enum"} {
		raw := s.First(keyword)
		if keyword == "examples" || keyword == "enum" {
			values = append(values, s.doc.parseArray(raw)...)
		} else if raw != nil {
			values = append(values, raw)
		}
	}
	return values
}

// kindOf returns the type to generate: the first declared type that is not null, or the type that
// the other keywords apply to.
func kindOf(s Schema, types []string) string {
	for _, t := range types {
		if t != "null" || len(types) == 1 {
			return t
		}
	}
	for _, hint := range [][2]string{
		{"properties", "object"},
		{"required", "object"},
		{"items", "array"},
		{"prefixItems", "array"},
		{"minimum", "number"},
		{"exclusiveMinimum", "number"},
		{"maximum", "number"},
		{"multipleOf", "number"},
	} {
		if s.First(hint[0]) != nil {
			return hint[1]
		}
	}
	return "string"
}

// sampleTexts are examples for the formats of JSON Schema, and for words in members' names.
var sampleTexts = []struct{ format, word, text string }{
	{"date-time", "", "2026-01-31T12:00:00Z"},
	{"date", "date", "2026-01-31"},
	{"time", "", "12:00:00Z"},
	{"duration", "", "P1D"},
	{"email", "email", "user@example.com"},
	{"hostname", "", "example.com"},
	{"ipv4", "", "192.0.2.1"},
	{"ipv6", "", "2001:db8::1"},
	{"uri", "uri", "https://example.com/"},
	{"url", "url", "https://example.com/"},
	{"uri-reference", "", "/a"},
	{"uuid", "", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
	{"byte", "", "YQ=="},
	{"", "path", "."},
	{"", "language", "en"},
	{"", "city", "Paris"},
	{"", "location", "Paris"},
}

// sampleText returns a text that the limits, the format and the pattern of s allow, or "example" if
// it finds no such text. name is the member's name: it suggests a text, such as a city.
func sampleText(s Schema, name string) string {
	minLength := naturalNumber(s.First("minLength"), 0)
	maxLength := naturalNumber(s.First("maxLength"), maxMakeText)
	format := s.Text("format")
	name = strings.ToLower(name)
	var texts []string
	for _, sample := range sampleTexts {
		if sample.format != "" && sample.format == format {
			texts = append([]string{sample.text}, texts...) // before the suggestions of the name
		} else if sample.word != "" && strings.Contains(name, sample.word) {
			texts = append(texts, sample.text)
		}
	}
	pattern, err := regexp.Compile(s.Text("pattern"))
	for _, text := range append(texts, "example", "1", "a", "A", "aa", "AA") {
		if missing := minLength - utf8.RuneCountInString(text); missing > 0 {
			text += strings.Repeat(text[len(text)-1:], min(missing, maxMakeText))
		}
		text = text[:min(len(text), maxLength)] // all texts are ASCII
		if err == nil && pattern.MatchString(text) {
			return text
		}
	}
	return "example"
}

// readBound returns one bound of s, as written and as a number, or nil and unlimited if s has no
// such bound. In draft 4 exclusiveMinimum is a flag next to minimum, from draft 6 on it is a
// number.
func readBound(s Schema, name, exclusive string, unlimited float64) (raw json.RawMessage, n float64, isExclusive bool) {
	raw = s.First(name)
	n = unlimited
	flag := s.First(exclusive)
	isExclusive = string(flag) == "true"
	if _, isNumber := jsonraw.Float(flag); isNumber {
		raw = flag
		isExclusive = true
	}
	if v, ok := jsonraw.Float(raw); ok {
		n = v
	}
	return raw, n, isExclusive
}

// sampleNumber returns the first of some simple numbers that the limits allow, or 1.
func sampleNumber(s Schema) json.RawMessage {
	lowRaw, low, isLowExclusive := readBound(s, "minimum", "exclusiveMinimum", math.Inf(-1))
	highRaw, high, isHighExclusive := readBound(s, "maximum", "exclusiveMaximum", math.Inf(1))
	step, hasStep := jsonraw.Float(s.First("multipleOf"))
	if !hasStep || step <= 0 {
		step = 1
	}
	for _, n := range []float64{
		1, step, 0, low, high, step * math.Ceil(low/step), step * math.Floor(high/step),
		low + 1, high - 1, (low + high) / 2,
	} {
		isExcluded := n == low && isLowExclusive || n == high && isHighExclusive
		fitsStep := !hasStep || n/step == math.Trunc(n/step)
		if math.IsInf(n, 0) || n < low || n > high || isExcluded || !fitsStep {
			continue
		}
		switch n {
		case low:
			return lowRaw // with all of its digits
		case high:
			return highRaw
		default:
			return strconv.AppendFloat(nil, n, 'f', -1, 64)
		}
	}
	return json.RawMessage("1")
}

// naturalNumber reads a natural number, or returns other.
func naturalNumber(raw json.RawMessage, other int) int {
	if n, err := strconv.Atoi(string(raw)); err == nil && n >= 0 {
		return n
	}
	return other
}
