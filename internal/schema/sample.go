package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// maxSamples bounds how many values two schemas are tried with.
const maxSamples = 200

// A trial is the outcome of trying two schemas with generated values.
type trial struct {
	// isConclusive is set if both schemas were tried with all values and accept at least one.
	isConclusive bool
	// isSame is set if both schemas accept the same values.
	isSame bool
	// lost describes a value that only the first schema accepts, gained a value that only the
	// second accepts; "" if there is no such value.
	lost, gained string
}

// trySamples validates the same generated values with both conjunctions. It returns the zero
// trial if this is impossible or exceeds the budget.
func (c *comparison) trySamples(a, b []part) trial {
	if c.options.Compile == nil || c.options.Budget.Forms <= 0 {
		return trial{}
	}
	c.options.Budget.Forms--
	was, okA := inline(a, &c.bytesLeft)
	is, okB := inline(b, &c.bytesLeft)
	if !okA || !okB {
		return trial{}
	}
	values, isComplete, work := sampleValues(was, is)
	// A validator reads each part of a schema at most once per value.
	cost := work + (len(was)+len(is))*(len(values)+20)
	if cost > c.bytesLeft/2 {
		return trial{}
	}
	c.bytesLeft -= cost
	before, errA := c.options.Compile(inDialect(was, a))
	after, errB := c.options.Compile(inDialect(is, b))
	if errA != nil || errB != nil {
		return trial{}
	}
	var t trial
	accepted := 0
	for _, v := range values {
		acceptedBefore, errA := before(v)
		acceptedAfter, errB := after(v)
		if errA != nil || errB != nil {
			return trial{}
		}
		switch {
		case acceptedBefore && acceptedAfter:
			accepted++
		case acceptedBefore && t.lost == "":
			t.lost = jsonraw.Excerpt(v, 60) + " was accepted and is not any more"
		case acceptedAfter && t.gained == "":
			t.gained = jsonraw.Excerpt(v, 60) + " is accepted and was not before"
		}
	}
	hasSameRareParts := string(rarelyMatchedParts(was)) == string(rarelyMatchedParts(is))
	t.isConclusive = isComplete && accepted > 0 && hasSameRareParts
	t.isSame = t.isConclusive && t.lost+t.gained == ""
	return t
}

// rarelyMatched are keywords that generated values match only by chance.
var rarelyMatched = wordSet(
	"pattern patternProperties propertyNames contains minContains maxContains dependentSchemas " +
		"unevaluatedItems unevaluatedProperties contentEncoding contentMediaType contentSchema $dynamicRef $recursiveRef",
)

// rarelyMatchedParts returns the keywords in rarelyMatched that a schema has at any depth, with
// their values.
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

// inDialect adds the document's "$schema" to an inlined schema.
func inDialect(schema json.RawMessage, all []part) json.RawMessage {
	if len(all) > 0 && len(schema) > 0 && schema[0] == '{' {
		if dialect := jsonraw.First(all[0].doc.Bytes(), "$schema"); dialect != nil {
			return jsonraw.With(schema, "$schema", dialect)
		}
	}
	return schema
}

// sampleValues returns values at the limits of what the schemas accept: typical values, enums, both
// sides of each limit, objects with and without each member, and a value of each type. The same
// schemas always get the same values. isComplete is false if values were left out because there
// were too many or they were too large; work is how many bytes were read.
func sampleValues(schemas ...json.RawMessage) (values []json.RawMessage, isComplete bool, work int) {
	seen := map[string]bool{}
	isComplete = true
	add := func(v json.RawMessage) {
		key := string(jsonraw.Canonical(v))
		if seen[key] {
			return
		}
		seen[key] = true
		if len(values) < maxSamples {
			values = append(values, v)
		} else {
			isComplete = false
		}
	}
	for _, v := range simpleValues {
		add(json.RawMessage(v))
	}
	for _, s := range schemas {
		g := sampler{}
		for _, v := range g.valuesNear(s, 0) {
			add(v)
		}
		isComplete = isComplete && !g.isIncomplete
		work += g.work
	}
	return values, isComplete, work
}

// simpleValues are simple values of each type.
var simpleValues = []string{
	"null", "true", "false", "0", "1", "-1", "0.5", "2", `""`, `"a"`, `"abc"`, `"A 1-é"`,
	"[]", "[1]", `["a"]`, "{}", `{"mcpc":1}`,
}

// A sampler generates values near the limits of a schema.
type sampler struct {
	// isIncomplete is set if a value was left out.
	isIncomplete bool
	// work counts the bytes of schemas that were read.
	work int
}

// Limits of generated values.
const (
	maxSampleDepth   = 4
	maxSampleLength  = 2000 // characters, items
	maxValuesPerPart = 24   // values of one member or item tried within its object or array
	maxNearValues    = 400
	maxSampleWork    = 1 << 20
)

// valuesNear returns values at the limits of a schema, the most typical first. There is always one.
func (g *sampler) valuesNear(schema json.RawMessage, depth int) []json.RawMessage {
	m, err := jsonraw.Object(schema)
	g.work += len(schema) + 64
	if err != nil || depth > maxSampleDepth || g.work > maxSampleWork {
		g.isIncomplete = g.isIncomplete || err == nil
		return []json.RawMessage{json.RawMessage(`"a"`)}
	}
	values := []json.RawMessage{Example(schema)}
	values = append(values, memberItems(m, "enum")...)
	if v, ok := m.Get("const"); ok {
		values = append(values, v)
	}
	values = append(values, g.numbersNear(m)...)
	values = append(values, g.textsNear(m)...)
	values = append(values, g.arraysNear(m, depth)...)
	values = append(values, g.objectsNear(m, depth)...)
	for _, s := range inPlaceSchemas(m) {
		values = append(values, g.valuesNear(s, depth+1)...)
	}
	if len(values) > maxNearValues {
		g.isIncomplete = true
		values = values[:maxNearValues]
	}
	return values
}

// memberItems returns the items of an array member.
func memberItems(m jsonraw.Members, name string) []json.RawMessage {
	items, _ := jsonraw.Array(m.Value(name))
	return items
}

// inPlaceSchemas returns the schemas that apply, or may apply, to the same value.
func inPlaceSchemas(m jsonraw.Members) []json.RawMessage {
	var all []json.RawMessage
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		all = append(all, memberItems(m, name)...)
	}
	for _, name := range []string{"not", "if", "then", "else"} {
		if s, ok := m.Get(name); ok {
			all = append(all, s)
		}
	}
	return all
}

// smallNumber reads a keyword as a number of at most 1<<30, or returns otherwise if the keyword has
// no such number.
func smallNumber(m jsonraw.Members, name string, otherwise int) int {
	n, err := strconv.ParseFloat(string(m.Value(name)), 64)
	if err != nil || n < 0 {
		return otherwise
	}
	return int(min(n, 1<<30))
}

// textOfLength returns a string of n characters, no two neighbors alike.
func (g *sampler) textOfLength(n int) json.RawMessage {
	if n > maxSampleLength {
		g.isIncomplete = true
		return json.RawMessage(`""`)
	}
	return jsonraw.Quote(strings.Repeat("abcdefghij", n/10+1)[:n])
}

// textsNear returns strings on and around each limit of the length.
func (g *sampler) textsNear(m jsonraw.Members) []json.RawMessage {
	var values []json.RawMessage
	for _, name := range []string{"minLength", "maxLength"} {
		if n := smallNumber(m, name, -1); n >= 0 {
			values = append(values, g.textOfLength(max(0, n-1)), g.textOfLength(n), g.textOfLength(n+1))
		}
	}
	return values
}

// numbersNear returns values on and around each limit, and multiples of the divisor near the limits.
func (g *sampler) numbersNear(m jsonraw.Members) []json.RawMessage {
	var near []float64
	limits := []float64{}
	for _, name := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		n, err := strconv.ParseFloat(string(m.Value(name)), 64)
		if err != nil {
			continue
		}
		if n > 1e12 || n < -1e12 { // n+0.5 would not be exact for much larger numbers
			g.isIncomplete = true
			continue
		}
		limits = append(limits, n)
		near = append(near, n+1, n, n-1, n+0.5, n-0.5)
	}
	divisor, err := strconv.ParseFloat(string(m.Value("multipleOf")), 64)
	if err == nil && divisor > 0 {
		if divisor > 1e9 || divisor < 1e-3 {
			g.isIncomplete = true
			divisor = 1
		}
		for _, limit := range append(limits, 0) {
			multiple := float64(int64(limit/divisor)) * divisor
			near = append(near, multiple, multiple+divisor, multiple-divisor,
				multiple+2*divisor, multiple+3*divisor, multiple+divisor/2)
		}
	}
	var values []json.RawMessage
	for _, n := range near {
		values = append(values, strconv.AppendFloat(nil, n, 'f', -1, 64))
	}
	return values
}
