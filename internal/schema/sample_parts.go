package schema

import (
	"encoding/json"
	"slices"
	"strconv"

	"mcpc/internal/jsonraw"
)

// makeArray returns a list of n items, different if possible. The last item is the value with the index last
// of valuesNear, modulo their number.
func (g *sampler) makeArray(m jsonraw.Members, depth, n, last int) json.RawMessage {
	if n > maxSampleLength || depth > maxSampleDepth {
		g.isIncomplete = true
		return json.RawMessage("[]")
	}
	items := make([]json.RawMessage, 0, n)
	for i := range n {
		near := g.valuesNear(itemSchema(m, i), depth+1)
		v := near[0]
		if i == n-1 && last > 0 {
			v = near[last%len(near)]
		} else if i > 0 && i < len(near) {
			v = near[i] // avoid equal items
		}
		items = append(items, v)
	}
	return jsonraw.List(items)
}

// itemSchema returns the schema of the item with index i, or nil if it has no schema.
func itemSchema(m jsonraw.Members, i int) json.RawMessage {
	prefix := memberItems(m, "prefixItems")
	if i < len(prefix) {
		return prefix[i]
	}
	items, err := jsonraw.Array(m.Value("items"))
	if err != nil { // one schema for all items
		return m.Value("items")
	}
	if i < len(items) {
		return items[i]
	}
	return m.Value("additionalItems")
}

// arraysNear returns arrays on and around each limit of the length, and with each value near the
// schema of an item.
func (g *sampler) arraysNear(m jsonraw.Members, depth int) []json.RawMessage {
	types, _ := ParseTypes(m.Value("type"))
	limitsArrays := slices.ContainsFunc(
		[]string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"},
		func(name string) bool { return m.Value(name) != nil })
	isArray := m.Value("type") != nil && types&Array != 0
	mayBeArray := isArray || limitsArrays
	if depth > maxSampleDepth || !mayBeArray {
		return nil
	}
	minItems := smallNumber(m, "minItems", 1)
	maxItems := smallNumber(m, "maxItems", 1)
	var values []json.RawMessage
	for _, n := range []int{0, 1, 2, minItems - 1, minItems, maxItems, maxItems + 1} {
		if n >= 0 {
			values = append(values, g.makeArray(m, depth, n, 0))
		}
	}
	length := max(1, len(memberItems(m, "prefixItems")))
	for i := range maxValuesPerPart {
		values = append(values, g.makeArray(m, depth, length, i))
	}
	return append(values, json.RawMessage(`["a","a"]`), json.RawMessage(`[1,1]`))
}

// makeObject returns an object of the members that isWanted accepts, each with its most typical
// value.
func (g *sampler) makeObject(
	m jsonraw.Members, depth int, isWanted func(name string, required bool) bool,
) json.RawMessage {
	if depth > maxSampleDepth {
		g.isIncomplete = true
		return json.RawMessage("{}")
	}
	members, required := allMembers(m, 0)
	var out jsonraw.Members
	for _, member := range members {
		if isWanted(member.Name, required[member.Name]) {
			out = append(out, jsonraw.Member{Name: member.Name, Value: g.valuesNear(member.Value, depth+1)[0]})
		}
	}
	return jsonraw.Append(json.RawMessage("{}"), out...)
}

// allMembers returns the members that a schema and its branches name, without duplicates, and the
// names that any of them requires.
func allMembers(m jsonraw.Members, depth int) (members jsonraw.Members, required map[string]bool) {
	required = m.Words("required")
	members, _ = jsonraw.Object(m.Value("properties"))
	members = slices.Clone(members)
	if depth < maxSampleDepth {
		for _, s := range inPlaceSchemas(m) {
			inner, _ := jsonraw.Object(s)
			innerMembers, innerRequired := allMembers(inner, depth+1)
			members = append(members, innerMembers...)
			for name := range innerRequired {
				required[name] = true
			}
		}
	}
	for _, name := range []string{"dependentRequired", "dependencies"} {
		dependents, _ := jsonraw.Object(m.Value(name))
		for _, dependent := range dependents {
			members = append(members, jsonraw.Member{Name: dependent.Name, Value: json.RawMessage("true")})
			names, _ := jsonraw.Array(dependent.Value)
			for _, name := range names {
				if text, ok := jsonraw.Text(name); ok {
					members = append(members, jsonraw.Member{Name: text, Value: json.RawMessage("true")})
				}
			}
		}
	}
	seen := map[string]bool{}
	kept := members[:0]
	for _, member := range members {
		if !seen[member.Name] {
			seen[member.Name] = true
			kept = append(kept, member)
		}
	}
	for _, name := range sortedNames(required, nil) {
		if !seen[name] {
			kept = append(kept, jsonraw.Member{Name: name, Value: json.RawMessage("true")})
		}
	}
	return kept, required
}

// objectsNear returns objects with and without each member, with each value near the member's schema,
// and with a member that no schema names.
func (g *sampler) objectsNear(m jsonraw.Members, depth int) []json.RawMessage {
	members, _ := allMembers(m, 0)
	types, _ := ParseTypes(m.Value("type"))
	var values []json.RawMessage
	for _, name := range []string{"minProperties", "maxProperties"} {
		for n := smallNumber(m, name, -2) - 1; n >= -1 && n <= smallNumber(m, name, -2)+1; n++ {
			values = append(values, g.objectOfSize(n))
		}
	}
	isObject := m.Value("type") != nil && types&Object != 0
	mayBeObject := isObject || len(members) > 0
	if depth > maxSampleDepth || !mayBeObject {
		return values
	}
	all := g.makeObject(m, depth, func(string, bool) bool { return true })
	required := g.makeObject(m, depth, func(_ string, required bool) bool { return required })
	values = append(values, all, required,
		jsonraw.With(required, "mcpc-other", json.RawMessage("1")),
		jsonraw.With(required, "mcpc-text", json.RawMessage(`"a"`)))
	for _, member := range members {
		near := g.valuesNear(member.Value, depth+1)
		if len(near) > maxValuesPerPart {
			g.isIncomplete = true
		}
		values = append(values,
			jsonraw.Without(all, member.Name),
			jsonraw.With(nil, member.Name, near[0]),
			jsonraw.Without(required, member.Name))
		for _, v := range near[:min(maxValuesPerPart, len(near))] {
			values = append(values, jsonraw.With(required, member.Name, v))
		}
		if len(values) > maxNearValues {
			g.isIncomplete = true
			break
		}
	}
	return values
}

// objectOfSize returns an object of n members.
func (g *sampler) objectOfSize(n int) json.RawMessage {
	if n > maxSampleLength {
		g.isIncomplete = true
		n = 0
	}
	var members jsonraw.Members
	for i := range max(0, n) {
		members = append(members, jsonraw.Member{Name: "m" + strconv.Itoa(i), Value: json.RawMessage("1")})
	}
	return jsonraw.Append(json.RawMessage("{}"), members...)
}
