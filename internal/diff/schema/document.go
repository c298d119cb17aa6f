package schema

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/diff/canonical"
	"mcpc/internal/jsonraw"
)

// A document is a schema as the server sent it, into which its references lead.
type document struct {
	root json.RawMessage
	hash json.RawMessage // of root, once it is known
	// objects are the members of those objects through which references led, by pointer.
	objects map[string]map[string]json.RawMessage
}

// step gives a member of an object, or an item of an array, of the document; nil where there is
// none. Each object is read once, which is taken from the budget.
func (d *document) step(at part, name string, budget *int) json.RawMessage {
	if members, known := d.objects[at.path]; known {
		return members[name]
	}
	*budget -= len(at.raw)
	if *budget < 0 {
		return nil
	}
	if items, err := jsonraw.Array(at.raw); err == nil {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(items) {
			return items[i]
		}
		return nil
	}
	members, _ := jsonraw.Object(at.raw)
	byName := map[string]json.RawMessage{}
	for _, m := range members {
		if byName[m.Name] == nil {
			byName[m.Name] = m.Value
		}
	}
	if d.objects == nil {
		d.objects = map[string]map[string]json.RawMessage{}
	}
	d.objects[at.path] = byName
	return byName[name]
}

// A part is one subschema: its bytes, and its JSON pointer in the document.
type part struct {
	in   *document
	raw  json.RawMessage
	path string
}

func (p part) member(name string, value json.RawMessage) part {
	return part{p.in, value, jsonraw.Pointer(p.path, name)}
}

func (p part) item(i int, value json.RawMessage) part {
	return part{p.in, value, p.path + "/" + strconv.Itoa(i)}
}

// refer follows a reference within the document: # and a JSON pointer. Anything else, and what
// leads nowhere, is false: nothing is fetched (basic/index, "JSON Schema").
func (p part) refer(ref string, budget *int) (part, bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		return part{}, false
	}
	at := part{in: p.in, raw: p.in.root}
	for step := range strings.SplitSeq(pointer, "/") {
		if step == "" && at.path == "" {
			continue
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := p.in.step(at, name, budget)
		if next == nil {
			return part{}, false
		}
		at = at.member(name, next)
	}
	return at, true
}

// What the keywords of JSON Schema hold (2020-12 and what the earlier dialects had): one
// schema, a list of them, or an object of them.
var (
	holdsOne = words("items additionalItems additionalProperties not if then else contains propertyNames unevaluatedItems " +
		"unevaluatedProperties contentSchema")
	holdsList = words("allOf anyOf oneOf prefixItems items")
	holdsMap  = words("properties patternProperties dependentSchemas dependencies")
	// asSet are the arrays whose order means nothing.
	asSet = words("required type enum")
	// notes are keywords that do not say which values are right.
	notes = words("title description default examples deprecated readOnly writeOnly $comment $schema $id id $anchor $vocabulary " +
		"$defs definitions format")
)

// words returns a set of words, which is made when it is first used.
func words(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			all[word] = true
		}
		return all
	})
}

// mostInlined bounds the bytes of a schema whose references were replaced by what they lead to.
const mostInlined = 64 << 10

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
	return canonical.Compact(w.b), !w.failed
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
	if w.failed = w.failed || len(w.b) > mostInlined || *w.budget < 0; w.failed {
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
		if m.Name == "$ref" || m.Name == "allOf" || notes()[m.Name] || !Known()[m.Name] {
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
	to, ok := p.refer(ref, w.budget)
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
	case asSet()[name] && notArray == nil:
		w.b = append(w.b, jsonraw.List(sorted(items))...)
	case holdsMap()[name] && len(members) > 0:
		w.b = append(w.b, '{')
		for i, m := range members {
			w.comma(i)
			w.b = append(append(w.b, jsonraw.Quote(m.Name)...), ':')
			w.schema(p.member(m.Name, m.Value))
		}
		w.b = append(w.b, '}')
	case holdsList()[name] && notArray == nil:
		w.b = append(w.b, '[')
		for i, item := range items {
			w.comma(i)
			w.schema(p.item(i, item))
		}
		w.b = append(w.b, ']')
	case holdsOne()[name]:
		w.schema(p)
	default:
		w.b = append(w.b, p.raw...)
	}
}

// sorted gives values in canonical form, in order and each once.
func sorted(items []json.RawMessage) []json.RawMessage {
	all := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		all = append(all, canonical.Compact(item))
	}
	return sortUnique(all)
}

func equal(a, b json.RawMessage) bool { return bytes.Equal(canonical.Compact(a), canonical.Compact(b)) }
