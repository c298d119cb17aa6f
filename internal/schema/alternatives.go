package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// compareGroups compares the canonical forms of several anyOf and oneOf.
func (c *comparison) compareGroups(was, is *view, at place) []Difference {
	a := c.describeGroups(was.groups)
	b := c.describeGroups(is.groups)
	if equalJSON(a, b) {
		return nil
	}
	return []Difference{{Kind: "undecided", Pointer: at.pointer, Name: at.name, Was: a, Is: b}}
}

// describeGroups returns groups in canonical form.
func (c *comparison) describeGroups(groups []group) json.RawMessage {
	var written []json.RawMessage
	for _, g := range groups {
		var items []json.RawMessage
		for _, alternative := range g.alternatives {
			items = append(items, c.canonicalForm(alternative))
		}
		written = append(written, jsonraw.With(nil, g.keyword, jsonraw.List(sortUnique(items))))
	}
	return jsonraw.List(sortUnique(written))
}

// canonicalForm returns the canonical form of an alternative: with references replaced by their targets,
// or as written if this is impossible.
func (c *comparison) canonicalForm(alternative []part) json.RawMessage {
	if inlined, ok := inline(alternative, &c.bytesLeft); ok {
		return inlined
	}
	return jsonraw.Canonical(conjunctionJSON(alternative))
}

// compareAlternatives compares the alternatives of two groups. It pairs equal alternatives, then
// alternatives with the same name, then the last on each side, then alternatives that share a type
// with no other.
// It compares the paired alternatives at once, and returns the other differences.
func (c *comparison) compareAlternatives(was, is group, at place) []Difference {
	a := was.alternatives
	b := is.alternatives
	// anyOf and oneOf mean the same if each has one alternative.
	isOtherKeyword := was.keyword != is.keyword && was.keyword != "" && is.keyword != ""
	var local []Difference
	if isOtherKeyword && len(a)+len(b) > 2 {
		local = append(local, Difference{
			Kind: "undecided", Pointer: at.pointer, Name: at.name,
			Was: jsonraw.Quote(was.keyword), Is: jsonraw.Quote(is.keyword),
		})
	}
	// placeOf returns the place of the alternatives a[i] and b[j]: its pointer is b[j]'s, or a[i]'s
	// if the new schema has no alternatives.
	placeOf := func(i, j int) place {
		child := at.child(at.pointer, at.name)
		child.ignoresNotes = was.keyword == "" || is.keyword == ""
		if is.keyword != "" {
			child.pointer = jsonraw.Pointer(at.pointer, is.keyword) + part{}.item(j, nil).pointer
		} else {
			child.pointer = jsonraw.Pointer(at.pointer, was.keyword) + part{}.item(i, nil).pointer
		}
		return child
	}
	pairs, restA, restB := pairEqual(len(a), len(b), c.keys(a, c.canonicalForm), c.keys(b, c.canonicalForm))
	// The name of an alternative is its definition's name if it is a reference, or else its title.
	definitionName := func(alternative []part) json.RawMessage {
		if len(alternative) != 1 {
			return nil
		}
		_, name := c.resolveAlias(alternative[0])
		return json.RawMessage(name)
	}
	titleOf := func(alternative []part) json.RawMessage {
		if len(alternative) != 1 {
			return nil
		}
		target, _ := c.resolveAlias(alternative[0])
		return jsonraw.First(target.raw, "title")
	}
	for _, key := range []func([]part) json.RawMessage{definitionName, titleOf} {
		var named [][2]int
		named, restA, restB = pairByKey(restA, restB, c.keys(a, key), c.keys(b, key))
		pairs = append(pairs, named...)
	}
	if len(restA) == 1 && len(restB) == 1 { // the last on each side
		pairs = append(pairs, [2]int{restA[0], restB[0]})
		restA = nil
		restB = nil
	}
	sharing, restA, restB, isDisjoint := c.pairTypes(a, b, restA, restB)
	pairs = append(pairs, sharing...)
	for _, p := range pairs {
		c.comparePlace(a[p[0]], b[p[1]], placeOf(p[0], p[1]))
	}
	if len(restA) > 0 && len(restB) > 0 && !isDisjoint {
		return append(local, Difference{
			Kind: "undecided", Pointer: at.pointer, Name: at.name,
			Was: alternativesJSON(a, restA), Is: alternativesJSON(b, restB),
		})
	}
	for _, i := range restA {
		local = append(local, Difference{
			Kind: "alternative-removed", Name: at.name, Was: conjunctionJSON(a[i]),
			Pointer: jsonraw.Pointer(at.pointer, was.keyword) + part{}.item(i, nil).pointer,
		})
	}
	for _, j := range restB {
		local = append(local, Difference{
			Kind: "alternative-added", Name: at.name, Is: conjunctionJSON(b[j]), Pointer: placeOf(0, j).pointer,
		})
	}
	return local
}

// alternativesJSON returns the alternatives at some indexes as a JSON array.
func alternativesJSON(alternatives [][]part, indexes []int) json.RawMessage {
	return jsonraw.ListOf(indexes, func(i int) json.RawMessage { return conjunctionJSON(alternatives[i]) })
}

// resolveAlias follows a part that consists of a single reference and perhaps notes. It also
// returns the name of the definition, "" without a reference.
func (c *comparison) resolveAlias(p part) (target part, name string) {
	for range maxVisits {
		members, _ := jsonraw.Object(p.raw)
		applied := conjuncts(p, members)
		if len(applied) != 1 || constrains(members) {
			break
		}
		next := applied[0]
		if ref, isRef := jsonraw.Text(next.raw); isRef {
			definition, ok := p.resolve(ref)
			if !ok {
				break
			}
			next = definition
			name = next.pointer[strings.LastIndexByte(next.pointer, '/')+1:]
		}
		p = next
	}
	return p, name
}

// constrains reports whether an object has a keyword, except $ref and allOf, that affects which
// values are valid.
func constrains(members jsonraw.Members) bool {
	return slices.ContainsFunc(members, func(m jsonraw.Member) bool {
		return m.Name != "$ref" && m.Name != "allOf" && !noteKeywords()[m.Name] && comparedKeywords()[m.Name]
	})
}

// maxTypePairs bounds the pairs of alternatives that pairTypes compares.
const maxTypePairs = 10_000

// pairTypes pairs alternatives that share a type with exactly one alternative of the other side,
// such as the object in [object, null] and in [object]. inA and inB are the indexes of the alternatives in
// a and b that it pairs. isDisjoint is set if the rest of the alternatives share no type.
func (c *comparison) pairTypes(
	a, b [][]part, inA, inB []int,
) (pairs [][2]int, restA, restB []int, isDisjoint bool) {
	if len(inA)*len(inB) == 0 || len(inA)*len(inB) > maxTypePairs {
		return nil, inA, inB, false
	}
	typesA := c.typesOf(a, inA)
	typesB := c.typesOf(b, inB)
	taken := map[int]bool{}
	for i, types := range typesA {
		j, isOnly := overlap(types, typesB)
		if isOnly { // also in the other direction?
			_, isOnly = overlap(typesB[j], typesA)
		}
		if isOnly {
			pairs = append(pairs, [2]int{inA[i], inB[j]})
			taken[j] = true
		} else {
			restA = append(restA, inA[i])
		}
	}
	for j := range inB {
		if !taken[j] {
			restB = append(restB, inB[j])
		}
	}
	var restTypesA, restTypesB Types
	for _, t := range c.typesOf(a, restA) {
		restTypesA |= t
	}
	for _, t := range c.typesOf(b, restB) {
		restTypesB |= t
	}
	return pairs, restA, restB, restTypesA&restTypesB == 0
}

// overlap returns the index of the only set that shares a type with t. isOnly is false if several
// sets or no set share a type.
func overlap(t Types, sets []Types) (index int, isOnly bool) {
	count := 0
	for i, other := range sets {
		if t&other != 0 {
			index = i
			count++
		}
	}
	return index, count == 1
}

// typesOf returns the types that the alternatives at some indexes accept. An unreadable alternative
// has all types.
func (c *comparison) typesOf(alternatives [][]part, indexes []int) []Types {
	found := make([]Types, len(indexes))
	for i, index := range indexes {
		found[i] = AllTypes
		if v, ok := c.readView(alternatives[index]); ok {
			found[i] = v.types
		}
	}
	return found
}

// keys returns the key of each alternative.
func (c *comparison) keys(alternatives [][]part, key func([]part) json.RawMessage) []string {
	keys := make([]string, len(alternatives))
	for i, alternative := range alternatives {
		keys[i] = string(key(alternative))
	}
	return keys
}

// pairEqual pairs the indexes of equal keys, in order: n keys in a, m keys in b. An empty key equals no
// other.
func pairEqual(n, m int, a, b []string) (pairs [][2]int, restA, restB []int) {
	indexes := func(n int) []int {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	return pairByKey(indexes(n), indexes(m), a, b)
}

// pairByKey pairs the indexes inA and inB whose keys are equal, in order; a and b are the keys of all
// indexes. An empty key equals no other.
func pairByKey(inA, inB []int, a, b []string) (pairs [][2]int, restA, restB []int) {
	free := map[string][]int{}
	for _, j := range inB {
		free[b[j]] = append(free[b[j]], j)
	}
	taken := map[int]bool{}
	for _, i := range inA {
		key := a[i]
		if key == "" || len(free[key]) == 0 {
			restA = append(restA, i)
			continue
		}
		j := free[key][0]
		free[key] = free[key][1:]
		taken[j] = true
		pairs = append(pairs, [2]int{i, j})
	}
	for _, j := range inB {
		if !taken[j] {
			restB = append(restB, j)
		}
	}
	return pairs, restA, restB
}
