package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// A Difference is one place at which two schemas differ.
type Difference struct {
	// Kind is what differs: "type-narrowed", "enum-added", "member-removed-closed" …
	Kind string
	// Pointer is a JSON pointer from the root of the schema, along properties and items as a
	// caller sees them: a place behind a reference has the pointer of the place that refers.
	Pointer string
	// Name is the place as a path of members: "", "address.street", "tags[]".
	Name string
	// Was and Is are the values of the keyword; nil where there is none.
	Was, Is json.RawMessage
	// Note says more about Was and Is: the values that were removed, an example.
	Note string
}

// Compile makes a function of a schema that reports whether the schema accepts a value.
type Compile func(schema []byte) (accepts func(value []byte) (bool, error), err error)

// A Budget bounds the work of all comparisons that share it.
type Budget struct {
	// Bytes is how many bytes of schemas may be read, a byte once at each depth.
	Bytes int
	// Forms is how many times two forms may be tried with generated values.
	Forms int
}

// Options are what a comparison may use. Budget is required; without Compile no two forms are
// found to be equivalent by trying them.
type Options struct {
	Compile Compile
	Budget  *Budget
}

// Limits of one pair of schemas.
const (
	maxCompareBytes = 16 << 20
	maxCompareDepth = 64
)

type comparison struct {
	options   Options
	bytesLeft int             // bytes
	open      map[string]bool // pairs of places that are being compared
	visits    map[string]int  // how often each was
	stopped   bool
	// hashes are those of whole documents.
	hashes map[*Document]json.RawMessage
	// sameDefs is set where both schemas have the same definitions.
	sameDefs    bool
	differences []Difference
}

// place is where the comparison is. silent leaves out the notes of this place.
type place struct {
	pointer, name string
	depth         int
	silent        bool
}

func (at place) keyword(name string) string { return jsonraw.Pointer(at.pointer, name) }

func (at place) to(pointer, name string) place {
	return place{pointer: pointer, name: name, depth: at.depth + 1}
}

// Compare gives the differences between two schemas; none where they are the same JSON. Where
// two that are not the same have none, the only one is "equivalent-form".
func Compare(a, b json.RawMessage, o Options) []Difference {
	if equalJSON(a, b) {
		return nil
	}
	c := &comparison{options: o, bytesLeft: min(maxCompareBytes, o.Budget.Bytes), open: map[string]bool{}, visits: map[string]int{},
		hashes: map[*Document]json.RawMessage{}}
	start := c.bytesLeft
	c.sameDefs = true
	for _, name := range []string{"$defs", "definitions"} {
		was := jsonraw.First(a, name)
		all, local := references(was)
		c.sameDefs = c.sameDefs && all == local && equalJSON(was, jsonraw.First(b, name))
	}
	c.walk([]part{{in: WithBudget(a, &c.bytesLeft), raw: a}}, []part{{in: WithBudget(b, &c.bytesLeft), raw: b}}, place{})
	o.Budget.Bytes -= start - c.bytesLeft
	if len(c.differences) == 0 {
		return []Difference{{Kind: "equivalent-form", Was: a, Is: b}}
	}
	return c.differences
}

// spend takes bytes from the budget; false where it is used up.
func (c *comparison) spend(n int) bool {
	c.bytesLeft -= n + 16
	return c.bytesLeft > 0
}

func (c *comparison) add(at place, kind, keyword string, was, is json.RawMessage) {
	d := Difference{Kind: kind, Pointer: at.pointer, Name: at.name, Was: was, Is: is}
	if keyword != "" {
		d.Pointer = at.keyword(keyword)
	}
	c.differences = append(c.differences, d)
}

// mostVisits is at how many places the difference between two schemas that many references
// lead to is reported.
const maxVisits = 8

// walk compares what holds at one place, and then what is below it. A pair of schemas within
// itself is not compared again, which ends cycles.
func (c *comparison) walk(a, b []part, at place) {
	if c.unchanged(a, b) {
		return
	}
	writtenA, writtenB := a, b
	a, b = c.replaceAliases(a), c.replaceAliases(b)
	key := paths(a) + "|" + paths(b)
	if c.stopped || c.open[key] || c.visits[key] == maxVisits {
		return
	}
	c.visits[key]++
	c.open[key] = true
	defer delete(c.open, key)
	was, okA := c.readView(a)
	is, okB := c.readView(b)
	if !okA || !okB || at.depth > maxCompareDepth {
		if !c.stopped {
			c.differences = append(c.differences, Difference{Kind: "too-complex", Pointer: at.pointer, Name: at.name})
		}
		c.stopped = true
		return
	}
	alone, other := alternativeAgainstPlain(was, writtenA, is, writtenB)
	if alone {
		c.inheritNotes(was)
		c.inheritNotes(is)
	}
	if !at.silent {
		c.notes(was, is, at)
	}
	if alone {
		c.addLocal(c.alternatives(other[0], other[1], at), a, b, at)
		return
	}
	local := values(was, is, at)
	for _, name := range sortedNames(was.opaque, is.opaque) { // the keywords whose effect is not derived
		if a, b := was.opaque[name], is.opaque[name]; !equalLists(a, b) {
			local = append(local, Difference{Kind: "undecided", Pointer: at.keyword(name), Name: at.name, Was: singleOrList(a), Is: singleOrList(b)})
		}
	}
	if len(was.groups) == 1 && len(is.groups) == 1 {
		local = append(local, c.alternatives(was.groups[0], is.groups[0], at)...)
	} else {
		local = append(local, c.groups(was, is, at)...)
	}
	c.addLocal(local, a, b, at)
	c.sets(was, is, at)
	if was.types&is.types&Object != 0 {
		c.members(was, is, at)
	}
	if was.types&is.types&Array != 0 {
		c.items(was, is, at)
	}
}

// unchanged reports parts that are the same bytes, and refer to nothing but definitions that
// are the same. It is a short cut: what it leaves out has no difference.
func (c *comparison) unchanged(a, b []part) bool {
	return slices.EqualFunc(a, b, func(x, y part) bool {
		if !bytes.Equal(x.raw, y.raw) {
			return false
		}
		refs, local := references(x.raw)
		return refs == 0 || refs == local && c.sameDefs
	})
}

// references counts the references in a schema, and those of them that lead to a definition;
// in doubt there are more of the first.
func references(raw json.RawMessage) (all, local int) {
	all = bytes.Count(raw, []byte(`Ref"`)) + bytes.Count(raw, []byte(`$ref"`)) + bytes.Count(raw, []byte(`\u`))
	return all, bytes.Count(raw, []byte(`"$ref":"#/$defs/`)) + bytes.Count(raw, []byte(`"$ref":"#/definitions/`))
}

// settled replaces parts that are a reference and nothing else by what they lead to.
func (c *comparison) replaceAliases(all []part) []part {
	all = slices.Clone(all)
	for i := range all {
		for range maxVisits {
			members, err := jsonraw.Object(all[i].raw)
			if err != nil || len(members) != 1 || members[0].Name != "$ref" {
				break
			}
			ref, _ := jsonraw.Text(members[0].Value)
			to, ok := all[i].refer(ref)
			if !ok {
				break
			}
			all[i] = to
		}
	}
	return all
}

func paths(all []part) string {
	var b strings.Builder
	for _, p := range all {
		b.WriteString(p.path + "\x00")
	}
	return b.String()
}

// lone reports that one side is nothing but anyOf or oneOf, and the other has neither: then
// the other is compared as if it were the one alternative.
func alternativeAgainstPlain(was *view, a []part, is *view, b []part) (bool, [2]group) {
	switch {
	case len(was.groups) == 1 && len(is.groups) == 0 && was.plain():
		return true, [2]group{was.groups[0], {"", [][]part{b}}}
	case len(is.groups) == 1 && len(was.groups) == 0 && is.plain():
		return true, [2]group{{"", [][]part{a}}, is.groups[0]}
	}
	return false, [2]group{}
}

// inherit takes the notes of the only alternative that is not null: [a schema, null] has the notes of that schema.
func (c *comparison) inheritNotes(v *view) {
	if len(v.groups) == 0 {
		return
	}
	var only *view
	for _, alternative := range v.groups[0].alternatives {
		one, ok := c.readView(alternative)
		if !ok || only != nil && one.types != Null {
			return
		}
		if one.types != Null {
			only = one
		}
	}
	if only == nil {
		return
	}
	for name, note := range only.notes {
		if v.notes[name] == nil {
			v.notes[name] = note
		}
	}
}

// plain reports a view without a constraint of its own beside its groups.
func (v *view) plain() bool {
	return v.types == AllTypes && v.enum == nil && !v.unique && !v.closed &&
		len(v.limits)+len(v.sets)+len(v.members)+len(v.required)+len(v.extra)+len(v.prefix)+len(v.items)+len(v.opaque) == 0
}

// judge adds the differences of one place, or that they are but one of form.
func (c *comparison) addLocal(local []Difference, a, b []part, at place) {
	if len(local) == 0 {
		return
	}
	tried := c.trySamples(a, b)
	if tried.same {
		was, is := joined(a), joined(b)
		c.add(at, "equivalent-form", "", was, is)
		return
	}
	for _, d := range local {
		// One more alternative of oneOf rejects what it has in common with the others.
		added, removed := d.Kind == "alternative-added", d.Kind == "alternative-removed"
		if strings.Contains(d.Pointer[len(at.pointer):], "/oneOf/") && (added && (!tried.tried || tried.lost != "") || removed && (!tried.tried || tried.gained != "")) {
			d.Kind = "undecided"
		}
		if d.Kind == "undecided" {
			d.Note = cmp.Or(tried.lost, tried.gained)
		}
		c.differences = append(c.differences, d)
	}
}

// joined is a conjunction as one JSON value, for showing.
func joined(all []part) json.RawMessage {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return jsonraw.Compact(all[0].raw)
	}
	raws := make([]json.RawMessage, len(all))
	for i, p := range all {
		raws[i] = jsonraw.Compact(p.raw)
	}
	return jsonraw.With(nil, "allOf", jsonraw.List(raws))
}

// notes compares what does not say which values are right.
func (c *comparison) notes(was, is *view, at place) {
	for _, name := range sortedNames(was.notes, is.notes) {
		a, b := was.notes[name], is.notes[name]
		if equalJSON(a, b) {
			continue
		}
		kind := "note-changed"
		switch name {
		case "description":
			kind = "description-changed"
		case "$schema":
			kind = "dialect-changed"
		case "default", "x-mcp-header":
			kind = strings.TrimPrefix(name, "x-mcp-") + changeSuffix(a, b)
		}
		c.add(at, kind, name, a, b)
	}
}

func changeSuffix(a, b json.RawMessage) string {
	switch {
	case a == nil:
		return "-added"
	case b == nil:
		return "-removed"
	}
	return "-changed"
}

func equalLists(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}
