package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// groups compares several anyOf and oneOf, or some with none, as they are written.
func (c *comparison) groups(was, is *view, at place) []Difference {
	a, b := c.identities(was.groups), c.identities(is.groups)
	if equalJSON(a, b) {
		return nil
	}
	return []Difference{{Kind: "undecided", Pointer: at.pointer, Name: at.name, Was: a, Is: b}}
}

func (c *comparison) identities(all []group) json.RawMessage {
	var written []json.RawMessage
	for _, g := range all {
		var items []json.RawMessage
		for _, alternative := range g.alternatives {
			items = append(items, c.identity(alternative))
		}
		written = append(written, jsonraw.With(nil, g.keyword, jsonraw.List(sortUnique(items))))
	}
	return jsonraw.List(sortUnique(written))
}

// identity is what an alternative says, or how it is written where its references have no end.
func (c *comparison) identity(alternative []part) json.RawMessage {
	if one, ok := inline(alternative, &c.bytesLeft); ok {
		return one
	}
	return jsonraw.Canonical(joined(alternative))
}

// alternatives compares two lists of which one has to hold. It pairs equal ones, then those of one name, then the
// last two, then those whose types only the two have in common.
func (c *comparison) alternatives(was, is group, at place) (local []Difference) {
	a, b := was.alternatives, is.alternatives
	if was.keyword != is.keyword && was.keyword != "" && is.keyword != "" && len(a)+len(b) > 2 {
		local = append(local, Difference{Kind: "undecided", Pointer: at.pointer, Name: at.name, Was: jsonraw.Quote(was.keyword), Is: jsonraw.Quote(is.keyword)})
	}
	to := func(i, j int) place {
		next := at.to(at.pointer, at.name)
		if next.silent = was.keyword == "" || is.keyword == ""; is.keyword != "" {
			next.pointer = jsonraw.Pointer(at.pointer, is.keyword) + part{}.item(j, nil).path
		} else {
			next.pointer = jsonraw.Pointer(at.pointer, was.keyword) + part{}.item(i, nil).path
		}
		return next
	}
	pairs, restA, restB := pairEqual(len(a), len(b), c.keys(a, c.identity), c.keys(b, c.identity))
	// Alternatives that are a reference are named by their definition, then by the title that they or it have.
	definition := func(alternative []part) json.RawMessage {
		if len(alternative) != 1 {
			return nil
		}
		_, name := c.resolveAlias(alternative[0])
		return json.RawMessage(name)
	}
	title := func(alternative []part) json.RawMessage {
		if len(alternative) != 1 {
			return nil
		}
		to, _ := c.resolveAlias(alternative[0])
		return jsonraw.First(to.raw, "title")
	}
	for _, key := range []func([]part) json.RawMessage{definition, title} {
		more, leftA, leftB := pairByKey(restA, restB, c.keys(a, key), c.keys(b, key))
		pairs = append(pairs, more...)
		restA, restB = leftA, leftB
	}
	if len(restA) == 1 && len(restB) == 1 {
		pairs = append(pairs, [2]int{restA[0], restB[0]})
		restA, restB = nil, nil
	}
	more, restA, restB, disjoint := c.pairTypes(a, b, restA, restB)
	pairs = append(pairs, more...)
	for _, p := range pairs {
		c.walk(a[p[0]], b[p[1]], to(p[0], p[1]))
	}
	if len(restA) > 0 && len(restB) > 0 && !disjoint {
		return append(local, Difference{Kind: "undecided", Pointer: at.pointer, Name: at.name, Was: joinedAt(a, restA), Is: joinedAt(b, restB)})
	}
	for _, i := range restA {
		pointer := jsonraw.Pointer(at.pointer, was.keyword) + part{}.item(i, nil).path
		local = append(local, Difference{Kind: "alternative-removed", Pointer: pointer, Name: at.name, Was: joined(a[i])})
	}
	for _, j := range restB {
		local = append(local, Difference{Kind: "alternative-added", Pointer: to(0, j).pointer, Name: at.name, Is: joined(b[j])})
	}
	return local
}

func joinedAt(all [][]part, at []int) json.RawMessage {
	return jsonraw.ListOf(at, func(i int) json.RawMessage { return joined(all[i]) })
}

// meant follows a part that consists of a reference, apart from notes. It also returns the name of the definition,
// "" if there is no reference.
func (c *comparison) resolveAlias(p part) (to part, name string) {
	for range maxVisits {
		members, _ := jsonraw.Object(p.raw)
		all := conjuncts(p, members)
		if len(all) != 1 || constrains(members) {
			break
		}
		next := all[0]
		if ref, is := jsonraw.Text(next.raw); is {
			target, ok := p.refer(ref)
			if !ok {
				break
			}
			next = target
			name = target.path[strings.LastIndexByte(target.path, '/')+1:]
		}
		p = next
	}
	return p, name
}

// constrains reports whether an object has a keyword that says which values are right, beside $ref and allOf.
func constrains(members jsonraw.Members) bool {
	return slices.ContainsFunc(members, func(m jsonraw.Member) bool {
		return m.Name != "$ref" && m.Name != "allOf" && !noteKeywords()[m.Name] && comparedKeywords()[m.Name]
	})
}

// mostTypePairs bounds the pairs of alternatives whose types are compared.
const maxTypePairs = 10_000

// pairTypes pairs alternatives that have a type in common with exactly one of the other side, as the object in
// [object, null] and in [object]. It reports whether those that are left have no type in common.
func (c *comparison) pairTypes(a, b [][]part, inA, inB []int) (pairs [][2]int, restA, restB []int, disjoint bool) {
	if len(inA)*len(inB) == 0 || len(inA)*len(inB) > maxTypePairs {
		return nil, inA, inB, false
	}
	typesA, typesB := c.typesOf(a, inA), c.typesOf(b, inB)
	taken := map[int]bool{}
	for i, one := range typesA {
		j, only := overlap(one, typesB)
		if only {
			_, only = overlap(typesB[j], typesA)
		}
		if only {
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
	disjoint = true
	typesA, typesB = c.typesOf(a, restA), c.typesOf(b, restB)
	for _, t := range typesB {
		for _, other := range typesA {
			disjoint = disjoint && t&other == 0
		}
	}
	return pairs, restA, restB, disjoint
}

// overlap returns the index of the only set that shares a type with t, and whether there is exactly one.
func overlap(t Types, all []Types) (at int, only bool) {
	n := 0
	for i, other := range all {
		if t&other != 0 {
			at = i
			n++
		}
	}
	return at, n == 1
}

// typesOf returns the types of the values that some alternatives accept; all types for one that cannot be read.
func (c *comparison) typesOf(all [][]part, some []int) []Types {
	found := make([]Types, len(some))
	for i, at := range some {
		found[i] = AllTypes
		if v, ok := c.readView(all[at]); ok {
			found[i] = v.types
		}
	}
	return found
}

func (c *comparison) keys(all [][]part, key func([]part) json.RawMessage) []string {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i] = string(key(one))
	}
	return keys
}

// pair brings together the indexes of equal keys, in order. The empty key equals nothing.
func pairEqual(n, m int, a, b []string) (pairs [][2]int, restA, restB []int) {
	all := func(n int) (is []int) {
		for i := range n {
			is = append(is, i)
		}
		return is
	}
	return pairByKey(all(n), all(m), a, b)
}

func pairByKey(inA, inB []int, a, b []string) (pairs [][2]int, restA, restB []int) {
	free := map[string][]int{}
	for _, j := range inB {
		free[b[j]] = append(free[b[j]], j)
	}
	taken := map[int]bool{}
	for _, i := range inA {
		if js := free[a[i]]; a[i] != "" && len(js) > 0 {
			pairs, free[a[i]], taken[js[0]] = append(pairs, [2]int{i, js[0]}), js[1:], true
		} else {
			restA = append(restA, i)
		}
	}
	for _, j := range inB {
		if !taken[j] {
			restB = append(restB, j)
		}
	}
	return pairs, restA, restB
}
