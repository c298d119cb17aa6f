package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
)

// A part is one subschema: its bytes and its JSON pointer in the document.
type part struct {
	in   *Document
	raw  json.RawMessage
	path string
}

func (p part) member(name string, value json.RawMessage) part {
	return part{p.in, value, jsonraw.Pointer(p.path, name)}
}

func (p part) item(i int, value json.RawMessage) part {
	return part{p.in, value, p.path + "/" + strconv.Itoa(i)}
}

// refer follows a reference within the document. It returns false if the reference has no target
// there.
func (p part) refer(ref string) (part, bool) {
	to, ok := p.in.Resolve(ref)
	return part{in: p.in, raw: to.Raw, path: to.Path}, ok
}

var (
	// unorderedKeywords have arrays whose order has no meaning.
	unorderedKeywords = wordSet("required type enum")
	// noteKeywords do not affect which values are valid.
	noteKeywords = wordSet("title description default examples deprecated readOnly writeOnly $comment $schema $id id " +
		"$anchor $vocabulary $defs definitions format")
)

// wordSet returns a function that splits the text into a set of words on first use.
func wordSet(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			all[word] = true
		}
		return all
	})
}

// maxInlinedBytes bounds a schema after its references were replaced by their targets.
const maxInlinedBytes = 64 << 10

// inline writes the conjunction of some parts as one self-contained schema in canonical form,
// without notes. It returns false if a reference is circular or has no target, or if the schema is
// too large.
func inline(all []part, budget *int) (json.RawMessage, bool) {
	w := inliner{open: map[string]bool{}, budget: budget}
	if len(all) == 1 {
		w.schema(all[0])
	} else {
		w.b = append(w.b, `{"allOf":[`...)
		for i, p := range all {
			w.comma(i)
			w.schema(p)
		}
		w.b = append(w.b, "]}"...)
	}
	return jsonraw.Canonical(w.b), !w.failed
}

// An inliner writes a schema and replaces each reference by its target.
type inliner struct {
	b      []byte
	open   map[string]bool // the references being followed
	failed bool
	budget *int
}

func (w *inliner) comma(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

func (w *inliner) schema(p part) {
	*w.budget -= len(p.raw)
	if len(w.b) > maxInlinedBytes || *w.budget < 0 {
		w.failed = true
	}
	if w.failed {
		w.b = append(w.b, "true"...)
		return
	}
	members, err := jsonraw.Object(p.raw)
	if err != nil {
		w.b = append(w.b, p.raw...)
		return
	}
	all := conjuncts(p, members)
	if len(all) == 1 && !constrains(members) { // a reference alone equals its target
		w.target(p, all[0])
		return
	}
	w.b = append(w.b, '{')
	n := 0
	name := func(name string) {
		w.comma(n)
		n++
		w.b = append(append(w.b, jsonraw.Quote(name)...), ':')
	}
	for _, m := range members {
		if m.Name == "$ref" || m.Name == "allOf" || noteKeywords()[m.Name] || !comparedKeywords()[m.Name] {
			continue
		}
		name(m.Name)
		w.keyword(p.member(m.Name, m.Value), m.Name)
	}
	if len(all) > 0 {
		name("allOf")
		w.b = append(w.b, '[')
		for i, one := range all {
			w.comma(i)
			w.target(p, one)
		}
		w.b = append(w.b, ']')
	}
	w.b = append(w.b, '}')
}

// conjuncts returns the items of allOf and the value of $ref. All of them apply in addition to the
// schema's other keywords.
func conjuncts(p part, members jsonraw.Members) []part {
	var all []part
	if ref, ok := members.Get("$ref"); ok {
		all = append(all, p.member("$ref", ref))
	}
	items, _ := jsonraw.Array(members.Value("allOf"))
	for i, item := range items {
		all = append(all, p.member("allOf", nil).item(i, item))
	}
	return all
}

// target writes one conjunct: a schema, or a reference's target.
func (w *inliner) target(p, one part) {
	ref, is := jsonraw.Text(one.raw)
	if !is {
		w.schema(one)
		return
	}
	to, ok := p.refer(ref)
	if !ok || w.open[to.path] {
		w.failed = true
		w.b = append(w.b, "true"...)
		return
	}
	w.open[to.path] = true
	w.schema(to)
	delete(w.open, to.path)
}

func (w *inliner) keyword(p part, name string) {
	members, _ := jsonraw.Object(p.raw)
	items, notArray := jsonraw.Array(p.raw)
	switch {
	case unorderedKeywords()[name] && notArray == nil:
		w.b = append(w.b, jsonraw.List(sorted(items))...)
	case slices.Contains(HoldMap, name) && len(members) > 0:
		w.b = append(w.b, '{')
		for i, m := range members {
			w.comma(i)
			w.b = append(append(w.b, jsonraw.Quote(m.Name)...), ':')
			w.schema(p.member(m.Name, m.Value))
		}
		w.b = append(w.b, '}')
	case slices.Contains(HoldList, name) && notArray == nil:
		w.b = append(w.b, '[')
		for i, item := range items {
			w.comma(i)
			w.schema(p.item(i, item))
		}
		w.b = append(w.b, ']')
	case slices.Contains(HoldOne, name):
		w.schema(p)
	default:
		w.b = append(w.b, p.raw...)
	}
}

// sorted returns the values in canonical form, in order, without duplicates.
func sorted(items []json.RawMessage) []json.RawMessage {
	all := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		all = append(all, jsonraw.Canonical(item))
	}
	return sortUnique(all)
}

func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(jsonraw.Canonical(a), jsonraw.Canonical(b))
}
