package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// mostSamples is how many values two forms are tried with at most.
const maxSamples = 200

// A trial is what trying two forms found.
type trial struct {
	// tried is set where all values were answered by both, and same where the answers were alike.
	tried, same bool
	// lost and gained are sentences with a value that only the first accepts, and only the
	// second; "" where none was found.
	lost, gained string
}

// try gives both conjunctions the same generated values. They are the same where both answer
// alike to all of them and accept at least one. Where it could not be tried, they are not.
func (c *comparison) trySamples(a, b []part) (t trial) {
	if c.options.Compile == nil || c.options.Budget.Forms <= 0 {
		return t
	}
	c.options.Budget.Forms--
	was, okA := inline(a, &c.bytesLeft)
	is, okB := inline(b, &c.bytesLeft)
	if !okA || !okB {
		return t
	}
	values, all, work := samples(was, is)
	// A validator looks at no more than each part of a schema for each value.
	cost := work + (len(was)+len(is))*(len(values)+20)
	if cost > c.bytesLeft/2 {
		return t
	}
	c.bytesLeft -= cost
	before, errA := c.options.Compile(inDialect(was, a))
	after, errB := c.options.Compile(inDialect(is, b))
	if errA != nil || errB != nil {
		return t
	}
	accepted := 0
	for _, v := range values {
		wasRight, errA := before(v)
		isRight, errB := after(v)
		if errA != nil || errB != nil {
			return trial{}
		}
		switch {
		case wasRight && isRight:
			accepted++
		case wasRight && t.lost == "":
			t.lost = jsonraw.Excerpt(v, 60) + " was accepted and is not any more"
		case isRight && t.gained == "":
			t.gained = jsonraw.Excerpt(v, 60) + " is accepted and was not before"
		}
	}
	t.tried = all && accepted > 0 && string(rarelyMatchedParts(was)) == string(rarelyMatchedParts(is))
	t.same = t.tried && t.lost+t.gained == ""
	return t
}

// rarely are keywords that generated values meet by chance only.
var rarelyMatched = wordSet("pattern patternProperties propertyNames contains minContains maxContains dependentSchemas unevaluatedItems " +
	"unevaluatedProperties contentEncoding contentMediaType contentSchema $dynamicRef $recursiveRef")

// untried gives what a schema says with such keywords, at any depth.
func rarelyMatchedParts(schema json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		members, _ := jsonraw.Object(raw)
		for _, m := range members {
			if rarelyMatched()[m.Name] {
				all = append(all, jsonraw.List([]json.RawMessage{jsonraw.Quote(m.Name), m.Value}))
			} else {
				walk(m.Value)
			}
		}
		items, _ := jsonraw.Array(raw)
		for _, item := range items {
			walk(item)
		}
	}
	walk(schema)
	return jsonraw.List(sortUnique(all))
}

// inDialect is an inlined schema in the dialect of its document.
func inDialect(schema json.RawMessage, all []part) json.RawMessage {
	if len(all) > 0 && len(schema) > 0 && schema[0] == '{' {
		if dialect := jsonraw.First(all[0].in.Bytes(), "$schema"); dialect != nil {
			return jsonraw.With(schema, "$schema", dialect)
		}
	}
	return schema
}

// samples returns values that are near the border of what the schemas accept: typical ones, the values of enums, both
// sides of each limit, objects with each member and without it, and one of each type. They are the same for the same
// schemas. all is false if there would be more than mostSamples, or ones too large to write; work is how many bytes were
// read.
func samples(schemas ...json.RawMessage) (values []json.RawMessage, all bool, work int) {
	seen := map[string]bool{}
	all = true
	add := func(v json.RawMessage) {
		if key := string(jsonraw.Canonical(v)); !seen[key] {
			seen[key] = true
			if len(values) < maxSamples {
				values = append(values, v)
			} else {
				all = false
			}
		}
	}
	for _, v := range kinds {
		add(json.RawMessage(v))
	}
	for _, s := range schemas {
		g := sampler{}
		for _, v := range g.valuesNear(s, 0) {
			add(v)
		}
		all = all && !g.cut
		work += g.work
	}
	return values, all, work
}

// kinds has values of each type.
var kinds = []string{"null", "true", "false", "0", "1", "-1", "0.5", "2", `""`, `"a"`, `"abc"`, `"A 1-é"`, "[]", "[1]", `["a"]`, "{}", `{"mcpc":1}`}

type sampler struct {
	// cut is set where a value was left out.
	cut bool
	// work counts the bytes of the schemas that were looked at.
	work int
}

// How large generated values get.
const (
	maxSampleDepth   = 4
	maxSampleLength  = 2000 // characters, items
	maxValuesPerPart = 24   // values of one member or item that are tried within its holder
	maxNearValues    = 400
	maxSampleWork    = 1 << 20
)

// near gives values near the border of a schema, the most typical first.
func (g *sampler) valuesNear(schema json.RawMessage, depth int) (values []json.RawMessage) {
	m, err := jsonraw.Object(schema)
	if g.work += len(schema) + 64; err != nil || depth > maxSampleDepth || g.work > maxSampleWork {
		g.cut = g.cut || err == nil
		return []json.RawMessage{json.RawMessage(`"a"`)}
	}
	values = append(values, Example(schema))
	values = append(values, list(m, "enum")...)
	if v, ok := m.Get("const"); ok {
		values = append(values, v)
	}
	values = append(values, g.numbers(m)...)
	values = append(values, g.texts(m)...)
	values = append(values, g.arrays(m, depth)...)
	values = append(values, g.objects(m, depth)...)
	for _, s := range branches(m) {
		values = append(values, g.valuesNear(s, depth+1)...)
	}
	if len(values) > maxNearValues {
		g.cut = true
		values = values[:maxNearValues]
	}
	return values
}

func list(m jsonraw.Members, name string) []json.RawMessage {
	items, _ := jsonraw.Array(m.Value(name))
	return items
}

// branches are the schemas that hold at the same place, or may.
func branches(m jsonraw.Members) (all []json.RawMessage) {
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		all = append(all, list(m, name)...)
	}
	for _, name := range []string{"not", "if", "then", "else"} {
		if s, ok := m.Get(name); ok {
			all = append(all, s)
		}
	}
	return all
}

// small is a keyword that is a small number; otherwise is what stands for one that is not there.
func smallNumber(m jsonraw.Members, name string, otherwise int) int {
	n, err := strconv.ParseFloat(string(m.Value(name)), 64)
	if err != nil || n < 0 {
		return otherwise
	}
	return int(min(n, 1<<30))
}

// text is a text of n different characters.
func (g *sampler) textOfLength(n int) json.RawMessage {
	if n > maxSampleLength {
		g.cut = true
		return json.RawMessage(`""`)
	}
	return jsonraw.Quote(strings.Repeat("abcdefghij", n/10+1)[:n])
}

func (g *sampler) texts(m jsonraw.Members) (values []json.RawMessage) {
	for _, name := range []string{"minLength", "maxLength"} {
		if n := smallNumber(m, name, -1); n >= 0 {
			values = append(values, g.textOfLength(max(0, n-1)), g.textOfLength(n), g.textOfLength(n+1))
		}
	}
	return values
}

// numbers are on, below and above each limit, and some multiples of a divisor near them.
func (g *sampler) numbers(m jsonraw.Members) (values []json.RawMessage) {
	var near []float64
	limits := []float64{}
	for _, name := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		n, err := strconv.ParseFloat(string(m.Value(name)), 64)
		if err != nil {
			continue
		}
		if n > 1e12 || n < -1e12 {
			g.cut = true
			continue
		}
		limits = append(limits, n)
		near = append(near, n+1, n, n-1, n+0.5, n-0.5)
	}
	if by, err := strconv.ParseFloat(string(m.Value("multipleOf")), 64); err == nil && by > 0 {
		if by > 1e9 || by < 1e-3 {
			g.cut = true
			by = 1
		}
		for _, l := range append(limits, 0) {
			first := float64(int64(l/by)) * by
			near = append(near, first, first+by, first-by, first+2*by, first+3*by, first+by/2)
		}
	}
	for _, n := range near {
		values = append(values, strconv.AppendFloat(nil, n, 'f', -1, 64))
	}
	return values
}
