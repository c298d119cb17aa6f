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

// A part is one subschema: its bytes, and its JSON pointer in the document.
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

// refer follows a reference within the document. It reports false for one that leads elsewhere or to nothing.
func (p part) refer(ref string) (part, bool) {
	to, ok := p.in.Resolve(ref)
	return part{in: p.in, raw: to.Raw, path: to.Path}, ok
}

var (
	// asSet are the arrays whose order means nothing.
	unorderedKeywords = wordSet("required type enum")
	// notes are keywords that do not say which values are right.
	noteKeywords = wordSet("title description default examples deprecated readOnly writeOnly $comment $schema $id id $anchor $vocabulary " +
		"$defs definitions format")
)

// words returns a set of words, which is made when it is first used.
func wordSet(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			all[word] = true
		}
		return all
	})
}

// mostInlined bounds the bytes of a schema whose references were replaced by what they lead to.
const maxInlinedBytes = 64 << 10

// inline writes the conjunction of some parts as one schema of its own, in canonical form,
// without notes and with each reference replaced by its target. false where that has no end,
// is too large, or a reference leads nowhere.
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

type inliner struct {
	b      []byte
	open   map[string]bool // the references that are being followed
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
	if w.failed = w.failed || len(w.b) > maxInlinedBytes || *w.budget < 0; w.failed {
		w.b = append(w.b, "true"...)
		return
	}
	members, err := jsonraw.Object(p.raw)
	if err != nil {
		w.b = append(w.b, p.raw...)
		return
	}
	all := conjuncts(p, members)
	if len(all) == 1 && !constrains(members) { // a reference and what it refers to are one schema
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

// conjuncts are the items of allOf, and the value of $ref: they hold beside the other members.
func conjuncts(p part, members jsonraw.Members) (all []part) {
	if ref, ok := members.Get("$ref"); ok {
		all = append(all, p.member("$ref", ref))
	}
	items, _ := jsonraw.Array(members.Value("allOf"))
	for i, item := range items {
		all = append(all, p.member("allOf", nil).item(i, item))
	}
	return all
}

// target writes one conjunct: a schema, or what a reference leads to.
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

// sorted gives values in canonical form, in order and each once.
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
