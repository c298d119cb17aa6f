package render

import (
	"bytes"
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"mcpc/internal/wire"
)

// A need is what several schemas together ask of one value.
type need struct {
	parts []schema
	types []string
	// typed says that types is meant even when it is empty: nothing will do.
	typed               bool
	low, high           *big.Rat
	lowOpen, highOpen   bool
	steps               []*big.Rat
	minLength, minItems int
	// maxLength and maxItems are -1 where there is no limit.
	maxLength, maxItems int
	minMembers          int
	unique              bool
	patterns            []string
}

func (g *maker) need(parts []schema) *need {
	n := &need{parts: g.flatten(parts), maxLength: -1, maxItems: -1}
	for _, s := range n.parts {
		n.takeTypes(s.types())
		n.takeBounds(s)
		n.minLength = max(n.minLength, count(s.get("minLength"), 0))
		n.maxLength = lower(n.maxLength, count(s.get("maxLength"), -1))
		n.minItems = max(n.minItems, count(s.get("minItems"), 0))
		n.maxItems = lower(n.maxItems, count(s.get("maxItems"), -1))
		n.minMembers = max(n.minMembers, count(s.get("minProperties"), 0))
		n.unique = n.unique || string(s.get("uniqueItems")) == "true"
		if pattern, ok := wire.Text(s.get("pattern")); ok {
			n.patterns = append(n.patterns, pattern)
		}
		if s.get("contains") != nil {
			n.minItems = max(n.minItems, count(s.get("minContains"), 1))
		}
	}
	return n
}

func (n *need) takeTypes(types []string) {
	switch {
	case len(types) == 0:
	case !n.typed:
		n.types, n.typed = types, true
	default:
		n.types = shared(n.types, types)
	}
}

// takeBounds narrows the range. In draft 4 exclusiveMinimum is a flag beside
// minimum, from draft 6 a number of its own.
func (n *need) takeBounds(s schema) {
	if v := rational(s.get("minimum")); v != nil {
		n.raise(v, string(s.get("exclusiveMinimum")) == "true")
	}
	if v := rational(s.get("exclusiveMinimum")); v != nil {
		n.raise(v, true)
	}
	if v := rational(s.get("maximum")); v != nil {
		n.sink(v, string(s.get("exclusiveMaximum")) == "true")
	}
	if v := rational(s.get("exclusiveMaximum")); v != nil {
		n.sink(v, true)
	}
	if v := rational(s.get("multipleOf")); v != nil && v.Sign() > 0 {
		n.steps = append(n.steps, v)
	}
}

func (n *need) raise(v *big.Rat, open bool) {
	if n.low == nil || v.Cmp(n.low) > 0 || v.Cmp(n.low) == 0 && open {
		n.low, n.lowOpen = v, open
	}
}

func (n *need) sink(v *big.Rat, open bool) {
	if n.high == nil || v.Cmp(n.high) < 0 || v.Cmp(n.high) == 0 && open {
		n.high, n.highOpen = v, open
	}
}

// rational is a JSON number of reasonable length, or nil. An exponent is a way
// to write a number that fills the memory.
func rational(raw json.RawMessage) *big.Rat {
	if len(raw) == 0 || len(raw) > 40 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return nil
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err != nil || f > 1e60 || f < -1e60 || f != 0 && f < 1e-60 && f > -1e-60 {
		return nil
	}
	v, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		return nil
	}
	return v
}

// count is a small natural number, or other.
func count(raw json.RawMessage, other int) int {
	v := rational(raw)
	if v == nil || !v.IsInt() || v.Sign() < 0 {
		return other
	}
	if !v.Num().IsInt64() {
		return 1 << 30
	}
	return int(min(v.Num().Int64(), 1<<30))
}

// lower is the smaller of two limits, where -1 is none.
func lower(a, b int) int {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// kind is the type to make: the first that is allowed and is not null, or what
// the keywords speak of.
func (n *need) kind() string {
	for _, t := range n.types {
		if t != "null" {
			return t
		}
	}
	if n.typed {
		return "null"
	}
	for _, hint := range []struct{ keyword, kind string }{
		{"properties", "object"}, {"required", "object"}, {"additionalProperties", "object"}, {"minProperties", "object"},
		{"items", "array"}, {"prefixItems", "array"}, {"minItems", "array"}, {"contains", "array"},
		{"minimum", "number"}, {"exclusiveMinimum", "number"}, {"maximum", "number"}, {"exclusiveMaximum", "number"}, {"multipleOf", "number"},
	} {
		if slices.ContainsFunc(n.parts, func(s schema) bool { return s.get(hint.keyword) != nil }) {
			return hint.kind
		}
	}
	return "string"
}

// proposals are the values that the schemas name themselves, the surest first.
func (n *need) proposals() []json.RawMessage {
	var values []json.RawMessage
	for _, keyword := range []string{"const", "examples", "example", "default", "enum"} {
		for _, s := range n.parts {
			raw := s.get(keyword)
			switch {
			case raw == nil:
			case keyword == "examples" || keyword == "enum":
				values = append(values, s.list(keyword)...)
			default:
				values = append(values, raw)
			}
		}
	}
	return values[:min(len(values), 100)]
}

// proposed are the different proposals that fit.
func (n *need) proposed() []json.RawMessage {
	var values []json.RawMessage
	for _, v := range n.proposals() {
		v = wire.Compact(v)
		known := slices.ContainsFunc(values, func(w json.RawMessage) bool { return bytes.Equal(v, w) })
		if !known && n.fits(v) {
			values = append(values, v)
		}
	}
	return values
}

// fits says whether value is what is needed, as far as can be seen without
// looking into it.
func (n *need) fits(value json.RawMessage) bool {
	if n.typed && !slices.ContainsFunc(n.types, func(t string) bool { return isType(value, t) }) {
		return false
	}
	for _, s := range n.parts {
		if fixed := s.get("const"); fixed != nil && !sameJSON(fixed, value) {
			return false
		}
		same := func(v json.RawMessage) bool { return sameJSON(v, value) }
		if list := s.list("enum"); list != nil && !slices.ContainsFunc(list, same) {
			return false
		}
	}
	switch value[0] {
	case '"':
		text, _ := wire.Text(value)
		return n.fitsText(text)
	case '{':
		return n.fitsMembers(value)
	case '[':
		items, _ := wire.Array(value)
		return len(items) >= n.minItems && (n.maxItems < 0 || len(items) <= n.maxItems)
	case 't', 'f', 'n':
		return true
	}
	return n.fitsNumber(rational(value))
}

func isType(value json.RawMessage, name string) bool {
	switch value[0] {
	case '"':
		return name == "string"
	case '{':
		return name == "object"
	case '[':
		return name == "array"
	case 't', 'f':
		return name == "boolean"
	case 'n':
		return name == "null"
	}
	v := rational(value)
	return name == "number" || name == "integer" && v != nil && v.IsInt()
}

func (n *need) fitsText(text string) bool {
	length := utf8.RuneCountInString(text)
	if length < n.minLength || n.maxLength >= 0 && length > n.maxLength {
		return false
	}
	for _, pattern := range n.patterns {
		// What RE2 cannot read cannot be checked here.
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(text) {
			return false
		}
	}
	return true
}

func (n *need) fitsMembers(value json.RawMessage) bool {
	members, _ := wire.Object(value)
	for _, s := range n.parts {
		for _, raw := range s.list("required") {
			name, _ := wire.Text(raw)
			if _, ok := members.Get(name); !ok {
				return false
			}
		}
	}
	return len(members) >= n.minMembers
}

func (n *need) fitsNumber(v *big.Rat) bool {
	if v == nil {
		return false
	}
	if n.low != nil && (v.Cmp(n.low) < 0 || n.lowOpen && v.Cmp(n.low) == 0) {
		return false
	}
	if n.high != nil && (v.Cmp(n.high) > 0 || n.highOpen && v.Cmp(n.high) == 0) {
		return false
	}
	for _, step := range n.steps {
		if !new(big.Rat).Quo(v, step).IsInt() {
			return false
		}
	}
	return !slices.Contains(n.types, "integer") || slices.Contains(n.types, "number") || v.IsInt()
}
