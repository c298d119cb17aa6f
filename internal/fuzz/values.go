package fuzz

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// Limits of generated values.
const (
	maxDepth      = 6
	maxText       = 20_000  // bytes of a text within declared limits
	maxItems      = 1000    // items of a list within declared limits
	largeText     = 20_000  // bytes of a text without a declared limit
	largeList     = 500     // items of a list without a declared limit
	deepNesting   = 60      // levels of a value without a declared depth
	maxEnum       = 12      // values of an enum that are sent
	maxValues     = 4000    // values of one tool
	maxValueBytes = 8 << 20 // bytes of all values of one tool
)

// The priorities of values: the budget is spent on basic ones first.
const (
	first  = iota // empty values
	basic         // each constraint from both sides, each declared choice
	varied        // texts in other scripts, other wrong types, sizes
)

// A value is a candidate for one place of the arguments.
type value struct {
	raw json.RawMessage
	// place is the JSON pointer of the varied part in the arguments.
	place string
	// label says what is special about it.
	label    string
	priority int
	// extreme is set if a server may refuse the value although the schema allows it: it is large,
	// deep, or outside of the usual range of numbers.
	extreme bool
	// declared is set if the schema names the value: as an element of enum, by a type, or as an
	// equal spelling of a value that it allows.
	declared bool
}

// A generator makes the values of one schema. Its work is bounded.
type generator struct{ valuesLeft, bytesLeft int }

// list is the values of one place, as they are collected.
type list struct {
	*generator
	place string
	all   []value
}

// add adds a value, unless the limits of the generator are reached.
func (l *list) add(label string, priority int, raw json.RawMessage) *value {
	l.valuesLeft--
	l.bytesLeft -= len(raw)
	if l.valuesLeft < 0 || l.bytesLeft < 0 {
		return &value{}
	}
	l.all = append(l.all, value{raw: raw, place: l.place, label: label, priority: priority})
	return &l.all[len(l.all)-1]
}

// addText adds a text.
func (l *list) addText(label string, priority int, text string) *value {
	return l.add(label, priority, jsonraw.Quote(text))
}

// values returns candidates for the place of s, valid ones and invalid ones; base is a valid value.
// name is the name of the member, or "".
func (g *generator) values(s schema.Schema, base json.RawMessage, name, place string, depth int) []value {
	l := &list{generator: g, place: place}
	if depth > maxDepth || g.valuesLeft < 0 || s.Document().Exhausted() {
		return nil
	}
	types := s.Types()
	for _, alternative := range s.Alternatives() {
		if alternative.IsCircular() {
			continue
		}
		example := mergedInto(base, alternative.Example(name))
		l.add("alternative", basic, example).declared = true
		l.all = append(l.all, g.values(alternative, example, name, place, depth+1)...)
	}
	l.addDeclared(s, base)
	kind := schema.TypeOf(base)
	may := func(t schema.Types) bool {
		return kind&t != 0 || slices.ContainsFunc(types, func(word string) bool { return schema.TypeNamed(word)&t != 0 })
	}
	hasValues := s.First("enum") != nil || s.First("const") != nil
	if may(schema.String) && !hasValues {
		l.addTexts(s, base)
	}
	if may(schema.Number) && !hasValues {
		l.addNumbers(s, base, takesTime(name))
	}
	if may(schema.Array) {
		l.addLists(s, base, depth)
	}
	if may(schema.Object) {
		l.addObjects(s, base, depth)
	}
	l.addOtherTypes(base)
	return l.all
}

// takesTime reports whether the member with a name probably says how long the tool works: it is not
// increased.
func takesTime(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"duration", "delay", "timeout", "wait", "sleep", "seconds", "interval", "ms"},
		func(word string) bool { return strings.Contains(name, word) })
}

// mergedInto returns an alternative's example with the members of base that it lacks, if both are
// objects.
func mergedInto(base, example json.RawMessage) json.RawMessage {
	members, err := jsonraw.Object(base)
	if _, exampleErr := jsonraw.Object(example); err != nil || exampleErr != nil {
		return example
	}
	for _, m := range members {
		if jsonraw.First(example, m.Name) == nil {
			example = jsonraw.With(example, m.Name, m.Value)
		}
	}
	return example
}

// addDeclared adds the values that the schema names, and values that look like them.
func (l *list) addDeclared(s schema.Schema, base json.RawMessage) {
	values, _ := jsonraw.Array(s.First("enum"))
	if v := s.First("const"); v != nil {
		values = append(values, v)
	}
	for i, v := range values[:min(len(values), maxEnum)] {
		l.add("enum", basic, v).declared = true
		text, isText := jsonraw.Text(v)
		if !isText || i > 1 {
			continue
		}
		for _, other := range []string{strings.ToUpper(text), strings.ToLower(text), text + " "} {
			if other != text {
				l.addText("enum in another case", basic, other)
			}
		}
	}
	if len(values) > 0 {
		l.addText("not in enum", basic, "mcpc-other")
	}
	for _, word := range s.Types() {
		switch word {
		case "null":
			l.add("null", basic, json.RawMessage("null")).declared = true
		case "boolean":
			l.add("boolean", basic, json.RawMessage("true")).declared = true
			l.add("boolean", basic, json.RawMessage("false")).declared = true
		}
	}
}

// otherTypes are values of each type, the ones that servers confuse first.
var otherTypes = []string{"null", "7", `"7"`, "true", `"true"`, "[]", "{}", "1.5", `"NaN"`, "0", `""`}

// addOtherTypes adds values of types that the schema may not allow.
func (l *list) addOtherTypes(base json.RawMessage) {
	priority := basic
	for i, raw := range otherTypes {
		if i > 6 {
			priority = varied
		}
		if schema.TypeOf(json.RawMessage(raw)) != schema.TypeOf(base) {
			l.add("another type", priority, json.RawMessage(raw))
		}
	}
	l.add("in a list", varied, jsonraw.List([]json.RawMessage{base}))
	if schema.TypeOf(base)&(schema.Number|schema.Boolean) != 0 {
		l.addText("as text", basic, string(base))
	}
}

// specialTexts are texts that programs often handle wrong.
var specialTexts = []struct{ label, text string }{
	{"blank", " "},
	{"combining character", "e\u0301"},
	{"character outside of the BMP", "😀"},
	{"right-to-left text", "שלום مرحبا"},
	{"joined emoji", "👩‍👩‍👧‍👦"},
	{"letters with special case rules", "İıß"},
	{"quotes", "'\"`\\"},
	{"lines", "a\r\nb\tc"},
	{"text direction control", "\u202eabc"},
	{"byte order mark", "\ufeffa"},
	{"line separator", "a\u2028b"},
	{"placeholders", "%s %d %n {0} {{x}} ${x}"},
	{"markup", "<b>&amp;</b>"},
	{"number as text", "1e3"},
	{"word null", "null"},
	{"word NaN", "NaN"},
	{"name of a prototype", "__proto__"},
	{"wide letters", "ＡＢＣ"},
}

// addTexts adds texts: on both sides of each limit of the length, and special ones unless a format
// or a pattern describes the text.
func (l *list) addTexts(s schema.Schema, base json.RawMessage) {
	text, _ := jsonraw.Text(base)
	filler := "a"
	if first, size := utf8.DecodeRuneInString(text); size > 0 && first != utf8.RuneError {
		filler = text[:size]
	}
	repeat := func(unit string, n int) (string, bool) {
		size := utf8.RuneCountInString(unit)
		if n < 0 || n > maxText*size/len(unit) {
			return "", false
		}
		return strings.Repeat(unit, n/size) + strings.Repeat("a", n%size), true
	}
	for _, keyword := range []string{"minLength", "maxLength"} {
		limit, err := strconv.Atoi(string(s.First(keyword)))
		if err != nil {
			continue
		}
		for _, n := range []int{limit, limit - 1, limit + 1} {
			if long, ok := repeat(filler, n); ok {
				l.addText("length at "+keyword, basic, long)
			}
		}
		for _, unit := range []string{"é", "😀", "e\u0301"} {
			for _, n := range []int{limit, limit - 1, limit + 1} {
				if long, ok := repeat(unit, n); ok {
					l.addText("length at "+keyword+" in other characters", basic, long)
				}
			}
		}
	}
	l.addText("empty text", first, "")
	if s.First("pattern") != nil {
		for _, other := range []string{text + "!", "!" + text, text + "\n", strings.ToUpper(text), "é" + text} {
			l.addText("outside of the pattern", basic, other)
		}
	}
	if s.First("format") != nil || s.First("pattern") != nil || s.First("contentEncoding") != nil {
		return
	}
	l.addText("short text", basic, "b")
	l.addText("ordinary text", basic, "lorem ipsum")
	l.addText("ordinary text", basic, "Zoo 42")
	for i, special := range specialTexts {
		priority := varied
		if i < 6 {
			priority = basic
		}
		l.addText(special.label, priority, special.text)
	}
	l.addText("NUL", basic, "a\x00b").extreme = true
	l.addText("large text", varied, strings.Repeat("abcdefghij", largeText/10)).extreme = s.First("maxLength") == nil
}

// addNumbers adds numbers: on both sides of each limit, in other spellings, and special ones. isTime
// leaves out the ones that are greater than base.
func (l *list) addNumbers(s schema.Schema, base json.RawMessage, isTime bool) {
	add := func(label string, priority int, text string) *value {
		n, ok := schema.Rational(text)
		reference, baseOK := schema.Rational(string(base))
		if isTime && (!ok || !baseOK || n.Cmp(reference) > 0) {
			return &value{}
		}
		return l.add(label, priority, json.RawMessage(text))
	}
	for _, keyword := range []string{"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"} {
		limit := s.First(keyword)
		if !jsonraw.IsNumber(limit) {
			continue
		}
		n, ok := schema.Rational(string(limit))
		if !ok {
			continue
		}
		for _, delta := range []string{"0", "1", "-1", "1/2", "-1/2"} {
			d, _ := new(big.Rat).SetString(delta)
			add("number at "+keyword, basic, plain(new(big.Rat).Add(n, d)))
		}
	}
	if step, ok := schema.Rational(string(s.First("multipleOf"))); ok && step.Sign() > 0 {
		for _, factor := range []int64{0, 2, 3, -1} {
			add("multiple", basic, plain(new(big.Rat).Mul(step, big.NewRat(factor, 1))))
		}
		add("not a multiple", basic, plain(new(big.Rat).Add(step, new(big.Rat).Quo(step, big.NewRat(2, 1)))))
	}
	if schema.TypeOf(base)&schema.Whole != 0 && !strings.ContainsAny(string(base), ".eE") {
		add("integer written with a fraction", basic, string(base)+".0").declared = true
		add("integer written with an exponent", basic, string(base)+"e0").declared = true
		add("whole number with an exponent", basic, "1e2")
	}
	for _, text := range []string{"0", "1", "2", "-1", "3", "10"} {
		add("small number", basic, text)
	}
	add("negative zero", basic, "-0").declared = true
	add("negative zero", varied, "-0.0").declared = true
	for _, text := range []string{"0.5", "-2.5", "0.1"} {
		add("fraction", basic, text)
	}
	for i, text := range []string{
		"2147483648", "9007199254740993", "1e308", "-2147483649", "9223372036854775808", "5e-324", "1e400",
	} {
		priority := basic
		if i > 1 {
			priority = varied
		}
		add("unusual number", priority, text).extreme = true
	}
}

// plain returns a number as JSON without an exponent, with at most 20 digits after the point.
func plain(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	return strings.TrimRight(n.FloatString(20), "0")
}

// addLists adds lists: on both sides of each limit, with equal items, and with each value of an item.
func (l *list) addLists(s schema.Schema, base json.RawMessage, depth int) {
	item, hasItem := s.Item()
	baseItems, _ := jsonraw.Array(base)
	example := json.RawMessage(`"a"`)
	if hasItem {
		example = item.Example("")
	}
	if len(baseItems) > 0 {
		example = baseItems[0]
	}
	var variants []value
	if hasItem && !item.IsCircular() {
		variants = l.values(item, example, "", jsonraw.Pointer(l.place, "0"), depth+1)
	}
	l.add("empty list", first, json.RawMessage("[]"))
	ofLength := func(n int) json.RawMessage {
		items := []json.RawMessage{}
		for i := range n {
			next := example
			if text, isText := jsonraw.Text(example); isText && i > 0 && item.First("enum") == nil {
				next = jsonraw.Quote(text + strconv.Itoa(i))
			} else if schema.TypeOf(example)&schema.Whole != 0 && i > 0 {
				next = json.RawMessage(strconv.Itoa(i + 1))
			}
			items = append(items, next)
		}
		return jsonraw.List(items)
	}
	for _, keyword := range []string{"minItems", "maxItems"} {
		limit, err := strconv.Atoi(string(s.First(keyword)))
		for _, n := range []int{limit, limit - 1, limit + 1} {
			if err == nil && n >= 0 && n <= maxItems {
				l.add("items at "+keyword, basic, ofLength(n))
			}
		}
	}
	l.add("one item", basic, ofLength(1))
	l.add("two items", basic, ofLength(2))
	l.add("equal items", basic, jsonraw.List([]json.RawMessage{example, example}))
	l.add("many items", varied, ofLength(largeList)).extreme = s.First("maxItems") == nil
	if !hasItem {
		l.add("nested lists", varied, nest(`[`, `]`, "[]", deepNesting)).extreme = true
	}
	for _, v := range variants {
		items := slices.Clone(baseItems)
		if len(items) == 0 {
			items = []json.RawMessage{nil}
		}
		items[0] = v.raw
		l.addInside(v, jsonraw.List(items))
	}
}

// addInside adds a value that has a varied part in it.
func (l *list) addInside(inner value, raw json.RawMessage) {
	v := l.add(inner.label, inner.priority, raw)
	v.place = inner.place
	v.extreme = inner.extreme
	v.declared = inner.declared
}

// nest returns inner within n levels of open and end.
func nest(open, end, inner string, n int) json.RawMessage {
	return json.RawMessage(strings.Repeat(open, n) + inner + strings.Repeat(end, n))
}

// addObjects adds objects: without each member, with each optional one, with a member that no schema
// names, and with each value of a member.
func (l *list) addObjects(s schema.Schema, base json.RawMessage, depth int) {
	properties := s.Properties()
	l.add("empty object", first, json.RawMessage("{}"))
	all := base
	for _, p := range properties {
		example := jsonraw.First(base, p.Name)
		if example == nil {
			example = p.Schema.Example(p.Name)
			l.add("with optional "+p.Name, basic, jsonraw.With(base, p.Name, example)).place = jsonraw.Pointer(l.place, p.Name)
			if !p.Schema.IsCircular() {
				all = jsonraw.With(all, p.Name, example)
			}
		} else {
			l.add("without "+p.Name, basic, jsonraw.Without(base, p.Name)).place = jsonraw.Pointer(l.place, p.Name)
		}
		if p.Schema.IsCircular() {
			continue
		}
		for _, v := range l.values(p.Schema, example, p.Name, jsonraw.Pointer(l.place, p.Name), depth+1) {
			l.addInside(v, jsonraw.With(base, p.Name, v.raw))
		}
		l.addNested(s, p, base)
	}
	l.add("all members", basic, all)
	l.add("a member that the schema does not name", basic, jsonraw.With(base, "mcpcOther", json.RawMessage("1")))
	if members, err := jsonraw.Object(base); err == nil && len(members) > 1 {
		slices.Reverse(members)
		l.add("members in another order", varied, jsonraw.Append(json.RawMessage("{}"), members...)).declared = true
	}
	if len(properties) == 0 && l.place != "" {
		l.add("nested objects", varied, nest(`{"a":`, `}`, "{}", deepNesting)).extreme = true
	}
}

// addNested adds a deep object if the member p of s has objects like s.
func (l *list) addNested(s schema.Schema, p schema.Property, base json.RawMessage) {
	item, isList := p.Schema.Item()
	open := `{` + string(jsonraw.Quote(p.Name)) + `:`
	end := `}`
	if isList && item.Ref() == s.Ref() {
		open += "["
		end = "]}"
	} else if p.Schema.Ref() != s.Ref() {
		return
	}
	if isSelf := item.IsCircular() || p.Schema.IsCircular(); !isSelf {
		return
	}
	var others strings.Builder
	members, _ := jsonraw.Object(base)
	for _, m := range members {
		if m.Name != p.Name {
			others.WriteString("," + string(jsonraw.Quote(m.Name)) + ":" + string(m.Value))
		}
	}
	end = strings.Replace(end, "}", others.String()+"}", 1)
	l.add("nested objects", basic, nest(open, end, string(base), deepNesting)).extreme = true
}
