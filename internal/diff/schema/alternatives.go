package schema

import (
	"encoding/json"

	"mcpc/internal/diff/canonical"
	"mcpc/internal/jsonraw"
)

// groups compares several anyOf and oneOf, or some with none, as they are written.
func (c *comparison) groups(was, is *view, at place) []Difference {
	a, b := c.identities(was.groups), c.identities(is.groups)
	if equal(a, b) {
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
	if one, ok := inline(alternative, &c.left); ok {
		return one
	}
	return canonical.Compact(joined(alternative))
}

// alternatives compares two lists of which one has to hold: equal ones belong together, then
// those of one name, then the last two.
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
	pairs, restA, restB := pair(len(a), len(b), c.keys(a, c.identity), c.keys(b, c.identity))
	named, restA, restB := pairRest(restA, restB, c.keys(a, tag), c.keys(b, tag))
	if pairs = append(pairs, named...); len(restA) == 1 && len(restB) == 1 {
		pairs = append(pairs, [2]int{restA[0], restB[0]})
		restA, restB = nil, nil
	}
	for _, p := range pairs {
		c.walk(a[p[0]], b[p[1]], to(p[0], p[1]))
	}
	if len(restA) > 0 && len(restB) > 0 {
		return append(local, Difference{Kind: "undecided", Pointer: at.pointer, Name: at.name, Was: raws(a, restA), Is: raws(b, restB)})
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

func raws(all [][]part, at []int) json.RawMessage {
	return jsonraw.ListOf(at, func(i int) json.RawMessage { return joined(all[i]) })
}

// tag is the name of an alternative: its reference, or its title; "" where it has none.
func tag(alternative []part) json.RawMessage {
	if len(alternative) != 1 {
		return nil
	}
	members, _ := jsonraw.Object(alternative[0].raw)
	if ref, ok := members.Get("$ref"); ok {
		return ref
	}
	return members.Value("title")
}

func (c *comparison) keys(all [][]part, key func([]part) json.RawMessage) []string {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i] = string(key(one))
	}
	return keys
}

// pair brings together the indexes of equal keys, in order. The empty key equals nothing.
func pair(n, m int, a, b []string) (pairs [][2]int, restA, restB []int) {
	all := func(n int) (is []int) {
		for i := range n {
			is = append(is, i)
		}
		return is
	}
	return pairRest(all(n), all(m), a, b)
}

func pairRest(inA, inB []int, a, b []string) (pairs [][2]int, restA, restB []int) {
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
