package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// compareValues compares the constraints on the value itself, and returns the differences: types,
// enums, limits, divisors, and whether an object is closed.
func compareValues(was, is *view, at place) []Difference {
	var differences []Difference
	add := func(kind, keyword string, before, after json.RawMessage, note string) {
		d := Difference{Kind: kind, Pointer: at.pointer, Name: at.name, Was: before, Is: after, Note: note}
		if keyword != "" {
			d.Pointer = at.keywordPointer(keyword)
		}
		differences = append(differences, d)
	}
	lost := was.types &^ is.types
	gained := is.types &^ was.types
	switch {
	case was.enum != nil && is.enum != nil: // compareEnums reports it: the values imply the types
	case lost != 0 && gained != 0:
		add("type-changed", "type", rawTypes(was.types), rawTypes(is.types), "")
	case lost != 0:
		add("type-narrowed", "type", rawTypes(was.types), rawTypes(is.types), "")
	case gained != 0:
		add("type-widened", "type", rawTypes(was.types), rawTypes(is.types), "")
	}
	compareEnums(was.enum, is.enum, add)
	shared := was.types & is.types
	for _, end := range ends {
		compareRange(was.limits, is.limits, end, shared, add)
	}
	compareDivisors(was.sets["multipleOf"], is.sets["multipleOf"], shared, add)
	if was.isUnique != is.isUnique && shared&Array != 0 {
		after := boolJSON(is.isUnique)
		note := "uniqueItems " + string(after)
		add("count"+tightenedSuffix(is.isUnique), "uniqueItems", boolJSON(was.isUnique), after, note)
	}
	if was.isClosed != is.isClosed && shared&Object != 0 {
		kind := "opened"
		if is.isClosed {
			kind = "closed"
		}
		add(kind, "additionalProperties", boolJSON(!was.isClosed), boolJSON(!is.isClosed), "")
	}
	return differences
}

// rawTypes returns a set as a value of the keyword "type", or nil if the set has all types.
func rawTypes(t Types) json.RawMessage {
	names := t.Names()
	if t == AllTypes {
		return nil
	}
	if len(names) == 1 {
		return jsonraw.Quote(names[0])
	}
	return jsonraw.ListOf(names, func(name string) json.RawMessage { return jsonraw.Quote(name) })
}

// boolJSON returns a boolean as JSON.
func boolJSON(value bool) json.RawMessage {
	if value {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// tightenedSuffix returns the last part of a difference's kind.
func tightenedSuffix(isTighter bool) string {
	if isTighter {
		return "-tightened"
	}
	return "-loosened"
}

// An addFunc adds a difference of a kind: keyword is the keyword that differs, or "" if the whole
// schema differs, a and b are its values before and after, and note explains them.
type addFunc func(kind, keyword string, a, b json.RawMessage, note string)

// compareEnums compares two lists of values. nil allows every value.
func compareEnums(a, b []json.RawMessage, add addFunc) {
	listJSON := func(values []json.RawMessage) json.RawMessage {
		if values == nil {
			return nil
		}
		return jsonraw.ListOf(values, plainNumber)
	}
	without := func(values, others []json.RawMessage) []json.RawMessage {
		return slices.DeleteFunc(slices.Clone(values), func(v json.RawMessage) bool { return containsSorted(others, v) })
	}
	switch {
	case a == nil && b == nil: // equal
	case a == nil:
		add("enum-removed", "enum", nil, listJSON(b), "a value other than "+listValues(b))
	case b == nil:
		add("enum-added", "enum", listJSON(a), nil, "a value other than "+listValues(a))
	default:
		if removed := without(a, b); len(removed) > 0 {
			add("enum-removed", "enum", listJSON(a), listJSON(b), listValues(removed))
		}
		if added := without(b, a); len(added) > 0 {
			add("enum-added", "enum", listJSON(a), listJSON(b), listValues(added))
		}
	}
}

// maxListed is the number of values that a sentence lists.
const maxListed = 10

// listValues returns the first values for a sentence.
func listValues(values []json.RawMessage) string {
	var shown []string
	for _, v := range values[:min(maxListed, len(values))] {
		shown = append(shown, jsonraw.Excerpt(plainNumber(v), 40))
	}
	if len(values) > maxListed {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// plainNumber writes a canonical number without an exponent, unless this takes many zeros.
func plainNumber(v json.RawMessage) json.RawMessage {
	n, ok := parseNumber(string(v))
	const maxMagnitude, minMagnitude = 21, -5 // as in JavaScript
	if !ok || !jsonraw.IsNumber(v) || n.magnitude > maxMagnitude || n.magnitude < minMagnitude {
		return v
	}
	point := int(n.magnitude) // digits before the decimal point
	text := strings.Repeat("0", max(0, 1-point)) + n.digits + strings.Repeat("0", max(0, point-len(n.digits)))
	point = max(1, point)
	if point < len(text) {
		text = text[:point] + "." + text[point:]
	}
	if n.sign < 0 {
		text = "-" + text
	}
	return json.RawMessage(text)
}

// compareRange compares one end of a range, if the shared types include the one it limits.
func compareRange(a, b map[string]limit, end string, shared Types, add addFunc) {
	before, inA := findLimit(a, end, shared)
	after, inB := findLimit(b, end, shared)
	if !inA && !inB {
		return
	}
	keyword := after.keyword
	if !inB {
		keyword = before.keyword
	}
	bound := bounds[keyword]
	if bound.of&shared == 0 {
		return
	}
	order := 0 // positive if the range is smaller, negative if it is larger
	canCompare := true
	if !inA {
		order = 1
	} else if !inB {
		order = -1
	} else {
		order, canCompare = compareLimits(before, after, bound.upper)
	}
	if !canCompare && !equalJSON(before.raw, after.raw) {
		add("undecided", keyword, before.raw, after.raw, "")
	} else if order != 0 {
		note := after.String() + ", was " + before.String()
		add(bound.kind+tightenedSuffix(order > 0), keyword, before.raw, after.raw, note)
	}
}

// findLimit returns one end of a range, if it is limited. The largest integer that programs exchange
// exactly (RFC 8259, section 6) does not count: schema generators write it for every integer.
func findLimit(limits map[string]limit, end string, shared Types) (limit, bool) {
	found, ok := limits[end]
	largest := largestInteger
	if end == "number-low" {
		largest = "-" + largest
	}
	isInteger := shared&Number == Whole
	if ok && isInteger && !found.exclusive && string(plainNumber(found.raw)) == largest {
		return limit{}, false
	}
	return found, ok
}

// largestInteger is 2^53-1.
const largestInteger = "9007199254740991"

// String returns the limit for a sentence. The zero limit has no keyword.
func (l limit) String() string {
	if l.keyword == "" {
		return "without a limit"
	}
	return l.keyword + " " + jsonraw.Excerpt(l.raw, 40)
}

// compareDivisors compares multipleOf.
func compareDivisors(a, b []json.RawMessage, shared Types, add addFunc) {
	if equalLists(a, b) || shared&Number == 0 {
		return
	}
	was := singleOrList(a)
	is := singleOrList(b)
	if len(a) == 0 {
		add("multiple-tightened", "multipleOf", was, is, "")
		return
	}
	if len(b) == 0 {
		add("multiple-loosened", "multipleOf", was, is, "")
		return
	}
	isNarrower, knownA := isMultiple(string(is), string(was))
	isWider, knownB := isMultiple(string(was), string(is))
	switch {
	case len(a) > 1 || len(b) > 1 || !knownA || !knownB:
		add("undecided", "multipleOf", was, is, "")
	case isWider:
		add("multiple-loosened", "multipleOf", was, is, "")
	case isNarrower:
		add("multiple-tightened", "multipleOf", was, is, "")
	default:
		add("multiple-changed", "multipleOf", was, is, "")
	}
}

// singleOrList returns the only value of a list, or the list as JSON, or nil if the list is empty.
func singleOrList(values []json.RawMessage) json.RawMessage {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return plainNumber(values[0])
	}
	return jsonraw.ListOf(values, plainNumber)
}

// compareSets compares patterns and formats. It does not decide which of two patterns is narrower:
// generated values rarely match a pattern.
func (c *comparison) compareSets(was, is *view, at place) {
	for _, name := range []string{"pattern", "format"} {
		if a, b := was.sets[name], is.sets[name]; !equalLists(a, b) && was.types&is.types&String != 0 {
			c.add(at, name+changeSuffix(singleOrList(a), singleOrList(b)), name, singleOrList(a), singleOrList(b))
		}
	}
}

// sortedNames returns the keys of two maps, sorted.
func sortedNames[T any](a, b map[string]T) []string {
	names := map[string]bool{}
	for name := range a {
		names[name] = true
	}
	for name := range b {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// compareMembers compares the members of an object, sorted by name.
func (c *comparison) compareMembers(was, is *view, at place) {
	for _, name := range sortedNames(memberNames(was), memberNames(is)) {
		a, inA := was.members[name]
		b, inB := is.members[name]
		inA = inA || was.required[name]
		inB = inB || is.required[name]
		child := at.child(jsonraw.Pointer(at.pointer, "properties", name), strings.TrimPrefix(at.name+"."+name, "."))
		switch {
		case !inA && is.required[name]:
			c.add(child, "member-required-added"+closedSuffix(was), "", nil, orTrue(b))
		case !inA:
			c.add(child, "member-added"+closedSuffix(was), "", nil, orTrue(b))
		case !inB:
			c.add(child, "member-removed"+closedSuffix(is), "", orTrue(a), nil)
		case is.required[name] && !was.required[name]:
			c.add(child, "member-required", "", nil, nil)
		case was.required[name] && !is.required[name]:
			c.add(child, "member-optional", "", nil, nil)
		}
		// otherMembers, the schemas of other members, apply to a member that is not listed.
		switch {
		case inA && inB:
			c.comparePlace(a, b, child)
		case inA && len(is.otherMembers) > 0:
			c.comparePlace(a, is.otherMembers, child)
		case inB && len(was.otherMembers) > 0:
			c.comparePlace(was.otherMembers, b, child)
		}
	}
	isLimited := len(was.otherMembers) > 0 || len(is.otherMembers) > 0
	if isLimited && !was.isClosed && !is.isClosed {
		others := at.child(at.keywordPointer("additionalProperties"), at.name+".*")
		c.comparePlace(was.otherMembers, is.otherMembers, others)
	}
}

// closedSuffix returns the last part of the kind of a difference about a member, "-closed" if the
// object of v has no other members.
func closedSuffix(v *view) string {
	if v.isClosed {
		return "-closed"
	}
	return ""
}

// orTrue returns a conjunction as JSON, or true for an empty one.
func orTrue(parts []part) json.RawMessage {
	if raw := conjunctionJSON(parts); raw != nil {
		return raw
	}
	return json.RawMessage("true")
}

// memberNames returns the members that a view declares or requires.
func memberNames(v *view) map[string]bool {
	names := map[string]bool{}
	for name := range v.members {
		names[name] = true
	}
	for name := range v.required {
		names[name] = true
	}
	return names
}

// compareItems compares the items of an array: the ones in prefixItems, then the rest.
func (c *comparison) compareItems(was, is *view, at place) {
	for i := range max(len(was.prefix), len(is.prefix)) {
		pointer := part{pointer: at.keywordPointer("prefixItems")}.item(i, nil).pointer
		c.comparePlace(was.itemAt(i), is.itemAt(i), at.child(pointer, fmt.Sprintf("%s[%d]", at.name, i)))
	}
	if len(was.items) > 0 || len(is.items) > 0 {
		c.comparePlace(was.items, is.items, at.child(at.keywordPointer("items"), at.name+"[]"))
	}
}

// itemAt returns the schemas of the item with index i.
func (v *view) itemAt(i int) []part {
	if i < len(v.prefix) {
		return v.prefix[i]
	}
	return v.items
}
