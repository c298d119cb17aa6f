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
	doc     *Document
	raw     json.RawMessage
	pointer string
}

func (p part) member(name string, value json.RawMessage) part {
	return part{p.doc, value, jsonraw.Pointer(p.pointer, name)}
}

func (p part) item(i int, value json.RawMessage) part {
	return part{p.doc, value, p.pointer + "/" + strconv.Itoa(i)}
}

// resolve follows a reference within the document. It returns false if the reference has no target
// there.
func (p part) resolve(ref string) (part, bool) {
	to, ok := p.doc.Resolve(ref)
	return part{doc: p.doc, raw: to.Raw, pointer: to.Path}, ok
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
func inline(parts []part, budget *int) (json.RawMessage, bool) {
	w := inliner{following: map[string]bool{}, budget: budget}
	if len(parts) == 1 {
		w.writeSchema(parts[0])
	} else {
		w.out = append(w.out, `{"allOf":[`...)
		for i, p := range parts {
			w.writeComma(i)
			w.writeSchema(p)
		}
		w.out = append(w.out, "]}"...)
	}
	return jsonraw.Canonical(w.out), !w.failed
}

// An inliner writes a schema and replaces each reference by its target.
type inliner struct {
	out       []byte
	following map[string]bool // the references being followed
	failed    bool
	budget    *int
}

// writeComma writes a comma before each item but the first.
func (w *inliner) writeComma(i int) {
	if i > 0 {
		w.out = append(w.out, ',')
	}
}

// writeSchema writes a schema, with its references replaced. It writes true after a failure.
func (w *inliner) writeSchema(p part) {
	*w.budget -= len(p.raw)
	if len(w.out) > maxInlinedBytes || *w.budget < 0 {
		w.failed = true
	}
	if w.failed {
		w.out = append(w.out, "true"...)
		return
	}
	members, err := jsonraw.Object(p.raw)
	if err != nil {
		w.out = append(w.out, p.raw...)
		return
	}
	applied := conjuncts(p, members)
	if len(applied) == 1 && !constrains(members) { // a reference alone equals its target
		w.writeConjunct(p, applied[0])
		return
	}
	w.out = append(w.out, '{')
	written := 0 // members
	writeName := func(name string) {
		w.writeComma(written)
		written++
		w.out = append(append(w.out, jsonraw.Quote(name)...), ':')
	}
	for _, m := range members {
		isConjunct := m.Name == "$ref" || m.Name == "allOf" // written below
		isNote := noteKeywords()[m.Name] || !comparedKeywords()[m.Name]
		if isConjunct || isNote {
			continue
		}
		writeName(m.Name)
		w.writeKeyword(p.member(m.Name, m.Value), m.Name)
	}
	if len(applied) > 0 {
		writeName("allOf")
		w.out = append(w.out, '[')
		for i, conjunct := range applied {
			w.writeComma(i)
			w.writeConjunct(p, conjunct)
		}
		w.out = append(w.out, ']')
	}
	w.out = append(w.out, '}')
}

// conjuncts returns the items of allOf and the value of $ref. All of them apply in addition to the
// schema's other keywords.
func conjuncts(p part, members jsonraw.Members) []part {
	var applied []part
	if ref, ok := members.Get("$ref"); ok {
		applied = append(applied, p.member("$ref", ref))
	}
	items, _ := jsonraw.Array(members.Value("allOf"))
	for i, item := range items {
		applied = append(applied, p.member("allOf", nil).item(i, item))
	}
	return applied
}

// writeConjunct writes a conjunct of p: a schema, or a reference's target.
func (w *inliner) writeConjunct(p, conjunct part) {
	ref, isRef := jsonraw.Text(conjunct.raw)
	if !isRef {
		w.writeSchema(conjunct)
		return
	}
	target, ok := p.resolve(ref)
	if !ok || w.following[target.pointer] {
		w.failed = true
		w.out = append(w.out, "true"...)
		return
	}
	w.following[target.pointer] = true
	w.writeSchema(target)
	delete(w.following, target.pointer)
}

// writeKeyword writes the value of a keyword: the schemas in it with their references replaced, and a
// list whose order has no meaning in canonical order.
func (w *inliner) writeKeyword(p part, name string) {
	members, _ := jsonraw.Object(p.raw)
	items, err := jsonraw.Array(p.raw)
	isArray := err == nil
	switch {
	case unorderedKeywords()[name] && isArray:
		w.out = append(w.out, jsonraw.List(sortCanonical(items))...)
	case slices.Contains(HoldMap, name) && len(members) > 0: // schemas by name
		w.out = append(w.out, '{')
		for i, m := range members {
			w.writeComma(i)
			w.out = append(append(w.out, jsonraw.Quote(m.Name)...), ':')
			w.writeSchema(p.member(m.Name, m.Value))
		}
		w.out = append(w.out, '}')
	case slices.Contains(HoldList, name) && isArray: // a list of schemas
		w.out = append(w.out, '[')
		for i, item := range items {
			w.writeComma(i)
			w.writeSchema(p.item(i, item))
		}
		w.out = append(w.out, ']')
	case slices.Contains(HoldOne, name): // one schema
		w.writeSchema(p)
	default:
		w.out = append(w.out, p.raw...)
	}
}

// sortCanonical returns the values in canonical form, in order, without duplicates.
func sortCanonical(items []json.RawMessage) []json.RawMessage {
	canonical := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		canonical = append(canonical, jsonraw.Canonical(item))
	}
	return sortUnique(canonical)
}

// equalJSON reports whether two values have the same canonical form.
func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(jsonraw.Canonical(a), jsonraw.Canonical(b))
}
