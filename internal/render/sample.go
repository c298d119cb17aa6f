package render

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/wire"
)

// memberNames are the members that an example needs: the required ones in the
// order of their declaration, what depends on them, and more up to the lowest
// number of members.
func (n *need) memberNames() []string {
	var names, spare []string
	add := func(name string) {
		if !slices.Contains(names, name) && len(names) < 100 {
			names = append(names, name)
		}
	}
	for _, s := range n.parts {
		for _, p := range ownProperties(s) {
			if p.required {
				add(p.name)
			} else {
				spare = append(spare, p.name)
			}
		}
	}
	for i := 0; i < len(names); i++ {
		for _, s := range n.parts {
			for _, name := range s.dependents(names[i]) {
				add(name)
			}
		}
	}
	for i := 0; len(names) < min(n.minMembers, maxMakeItems); i++ {
		if i < len(spare) {
			add(spare[i])
		} else {
			add(fmt.Sprintf("key%d", i-len(spare)+1))
		}
	}
	return names
}

// ownProperties are those of s alone; its allOf is a part of its own.
func ownProperties(s schema) []property {
	alone := s
	alone.members = slices.DeleteFunc(slices.Clone(s.members), func(m wire.Member) bool { return m.Name == "allOf" })
	return alone.properties()
}

// dependents are the members that must stand beside name.
func (s schema) dependents(name string) []string {
	var names []string
	for _, keyword := range []string{"dependentRequired", "dependencies"} {
		raw, _ := s.doc.object(s.get(keyword)).Get(name)
		for _, item := range s.doc.array(raw) {
			if dependent, ok := wire.Text(item); ok {
				names = append(names, dependent)
			}
		}
	}
	return names
}

// memberParts are the schemas that bind the member called name.
func (n *need) memberParts(name string) []schema {
	var parts []schema
	for _, s := range n.parts {
		raw, declared := s.doc.object(s.get("properties")).Get(name)
		if declared {
			parts = append(parts, s.at(raw))
		}
		for _, m := range s.doc.object(s.get("patternProperties")) {
			if re, err := regexp.Compile(m.Name); err == nil && re.MatchString(name) {
				parts, declared = append(parts, s.at(m.Value)), true
			}
		}
		if more := s.get("additionalProperties"); !declared && len(more) > 0 && more[0] == '{' {
			parts = append(parts, s.at(more))
		}
	}
	return parts
}

// itemParts are the schemas that bind the i-th item of an array.
func (n *need) itemParts(i int) []schema {
	var parts []schema
	for _, s := range n.parts {
		first := s.list("prefixItems")
		if first == nil {
			first = s.list("items") // draft 4 to 2019-09: one schema for each place
		}
		rest := s.get("items")
		if len(rest) > 0 && rest[0] == '[' {
			rest = s.get("additionalItems")
		}
		switch {
		case i < len(first):
			parts = append(parts, s.at(first[i]))
		case len(rest) > 0:
			parts = append(parts, s.at(rest))
		}
		if raw := s.get("contains"); raw != nil && i < count(s.get("minContains"), 1) {
			parts = append(parts, s.at(raw))
		}
	}
	return parts
}

// formats are values of the formats that JSON Schema names.
var formats = map[string]string{
	"date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
	"email": "user@example.com", "idn-email": "user@example.com",
	"hostname": "example.com", "idn-hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "iri": "https://example.com/", "url": "https://example.com/",
	"uri-reference": "/a", "iri-reference": "/a", "uri-template": "/a/{id}",
	"uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "json-pointer": "/a", "relative-json-pointer": "0",
	"regex": "a", "byte": "YQ==", "base64": "YQ==",
}

// habits are values for members whose name says what they hold.
var habits = []struct{ word, value string }{
	{"url", "https://example.com/"}, {"uri", "https://example.com/"}, {"email", "user@example.com"},
	{"path", "."}, {"date", "2026-01-31"}, {"language", "en"}, {"city", "Paris"}, {"location", "Paris"},
}

func (n *need) sampleText(name string, variant int) string {
	candidates := n.textCandidates(name)
	for _, pattern := range n.patterns {
		if text := patternSample(pattern, n.minLength, variant); n.fitsText(text) {
			return text
		}
	}
	for _, text := range candidates {
		if variant > 0 {
			text = fmt.Sprint(text, variant+1)
		}
		if n.fitsText(text) {
			return text
		}
		if text = n.stretched(text, variant); n.fitsText(text) {
			return text
		}
	}
	return n.stretched(candidates[0], variant)
}

func (n *need) textCandidates(name string) []string {
	var texts []string
	for _, s := range n.parts {
		if format, _ := wire.Text(s.get("format")); formats[format] != "" {
			texts = append(texts, formats[format])
		}
	}
	for _, h := range habits {
		if strings.Contains(strings.ToLower(name), h.word) {
			texts = append(texts, h.value)
		}
	}
	return append(texts, "example", "1", "a", "A", "")
}

// stretched gives text the length that is asked for, with the variant at its
// end, where a cut would lose it.
func (n *need) stretched(text string, variant int) string {
	if short := n.minLength - utf8.RuneCountInString(text); short > 0 {
		last := "a"
		if text != "" {
			last = text[len(text)-1:]
		}
		return text + strings.Repeat(last, min(short, maxMakeText))
	}
	runes := []rune(text)
	if n.maxLength >= 0 && len(runes) > n.maxLength {
		if variant > 0 {
			return string(runes[len(runes)-n.maxLength:])
		}
		return string(runes[:n.maxLength])
	}
	return text
}

// sampleNumber takes the first of the simple numbers that the limits allow.
func (n *need) sampleNumber(variant int) json.RawMessage {
	step := n.step()
	shift := new(big.Rat).Mul(step, big.NewRat(int64(variant), 1))
	candidates := []*big.Rat{big.NewRat(1, 1), step, new(big.Rat)}
	if n.low != nil {
		first := multipleFrom(n.low, step)
		candidates = append(candidates, n.low, first, new(big.Rat).Add(first, step))
	}
	if n.high != nil {
		last := new(big.Rat).Neg(multipleFrom(new(big.Rat).Neg(n.high), step))
		candidates = append(candidates, n.high, last, new(big.Rat).Sub(last, step))
	}
	if n.low != nil && n.high != nil {
		sum := new(big.Rat).Add(n.low, n.high)
		candidates = append(candidates, sum.Mul(sum, big.NewRat(1, 2)))
	}
	for _, c := range candidates {
		for _, v := range []*big.Rat{new(big.Rat).Add(c, shift), new(big.Rat).Sub(c, shift)} {
			if n.fitsNumber(v) {
				return decimal(v)
			}
		}
	}
	return decimal(candidates[min(3, len(candidates)-1)])
}

// step is the distance between the numbers that are allowed, or 1.
func (n *need) step() *big.Rat {
	step := big.NewRat(1, 1)
	if len(n.steps) == 0 {
		return step
	}
	if !slices.Contains(n.types, "integer") {
		step = n.steps[0]
	}
	for _, s := range n.steps {
		// The least common multiple of a/b and c/d in lowest terms is
		// lcm(a,c)/gcd(b,d).
		num := new(big.Int).Mul(step.Num(), s.Num())
		num.Quo(num, new(big.Int).GCD(nil, nil, step.Num(), s.Num()))
		step = new(big.Rat).SetFrac(num, new(big.Int).GCD(nil, nil, step.Denom(), s.Denom()))
	}
	return step
}

// multipleFrom is the first multiple of step that is not below v.
func multipleFrom(v, step *big.Rat) *big.Rat {
	q := new(big.Rat).Quo(v, step)
	whole := new(big.Int).Div(q.Num(), q.Denom()) // rounds down: the divisor is positive
	if !q.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

func decimal(v *big.Rat) json.RawMessage {
	if v.IsInt() {
		return json.RawMessage(v.Num().String())
	}
	return json.RawMessage(strings.TrimRight(v.FloatString(70), "0"))
}
