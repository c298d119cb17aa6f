package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// A Difference is one place at which two schemas differ.
type Difference struct {
	// Kind is the sort of difference, such as "type-narrowed", "enum-added" or
	// "member-removed-closed".
	Kind string
	// Pointer is a JSON pointer from the root of the schema along properties and items, as a caller
	// sees them. For a schema behind a reference it is the pointer of the reference.
	Pointer string
	// Name is the place as a path of members: "", "address.street", "tags[]".
	Name string
	// Was and Is are the values of the keyword, or nil.
	Was, Is json.RawMessage
	// Note explains Was and Is, such as the removed values or an example.
	Note string
}

// Compile returns a function that reports whether a schema accepts a value.
type Compile func(schema []byte) (accepts func(value []byte) (bool, error), err error)

// A Budget bounds the work of all comparisons that share it.
type Budget struct {
	// Bytes is how many bytes of schemas may be read. A byte counts once per depth.
	Bytes int
	// Forms is how many pairs of schemas may be tried with generated values.
	Forms int
}

// Options configure a comparison. Budget is required. Without Compile, schemas are never tried with
// generated values.
type Options struct {
	Compile Compile
	Budget  *Budget
}

// Limits of one comparison.
const (
	maxCompareBytes = 16 << 20
	maxCompareDepth = 64
)

// A comparison collects the differences between two schemas.
type comparison struct {
	options   Options
	bytesLeft int             // of the budget
	comparing map[string]bool // the pairs of places being compared
	visits    map[string]int  // how often each pair was compared
	stopped   bool
	// hashes caches documentHash.
	hashes map[*Document]json.RawMessage
	// sameDefs is set if both schemas have the same definitions.
	sameDefs    bool
	differences []Difference
}

// A place is the current position of a comparison. ignoresNotes suppresses differences between notes.
type place struct {
	pointer, name string
	depth         int
	ignoresNotes  bool
}

// keywordPointer returns the JSON pointer of a keyword at the place.
func (at place) keywordPointer(name string) string { return jsonraw.Pointer(at.pointer, name) }

// child returns a place one level deeper.
func (at place) child(pointer, name string) place {
	return place{pointer: pointer, name: name, depth: at.depth + 1}
}

// Compare returns the differences between two schemas: nil if their JSON is equal, or a single
// "equivalent-form" if only their form differs.
func Compare(a, b json.RawMessage, o Options) []Difference {
	if equalJSON(a, b) {
		return nil
	}
	c := &comparison{
		options: o, bytesLeft: min(maxCompareBytes, o.Budget.Bytes), comparing: map[string]bool{},
		visits: map[string]int{}, hashes: map[*Document]json.RawMessage{},
	}
	bytesBefore := c.bytesLeft
	c.sameDefs = true
	for _, name := range []string{"$defs", "definitions"} {
		was := jsonraw.First(a, name)
		total, local := references(was)
		isSelfContained := total == local // no reference from a definition to other parts of the schema
		c.sameDefs = c.sameDefs && isSelfContained && equalJSON(was, jsonraw.First(b, name))
	}
	rootA := part{doc: WithBudget(a, &c.bytesLeft), raw: a}
	rootB := part{doc: WithBudget(b, &c.bytesLeft), raw: b}
	c.comparePlace([]part{rootA}, []part{rootB}, place{})
	o.Budget.Bytes -= bytesBefore - c.bytesLeft
	if len(c.differences) == 0 {
		return []Difference{{Kind: "equivalent-form", Was: a, Is: b}}
	}
	return c.differences
}

// spend takes bytes from the budget and reports whether any are left.
func (c *comparison) spend(n int) bool {
	c.bytesLeft -= n + 16
	return c.bytesLeft > 0
}

// add adds a difference at a place; keyword is "" if the whole schema differs.
func (c *comparison) add(at place, kind, keyword string, was, is json.RawMessage) {
	d := Difference{Kind: kind, Pointer: at.pointer, Name: at.name, Was: was, Is: is}
	if keyword != "" {
		d.Pointer = at.keywordPointer(keyword)
	}
	c.differences = append(c.differences, d)
}

// maxVisits bounds how often a pair of schemas that many references share is reported.
const maxVisits = 8

// comparePlace compares two conjunctions at one place, then their members and items. It does not compare a
// pair again inside of itself, which ends cycles.
func (c *comparison) comparePlace(a, b []part, at place) {
	if c.isUnchanged(a, b) {
		return
	}
	writtenA := a // as written, with its references
	writtenB := b
	a = c.replaceAliases(a)
	b = c.replaceAliases(b)
	key := joinPointers(a) + "|" + joinPointers(b)
	isCycle := c.comparing[key]
	if c.stopped || isCycle || c.visits[key] == maxVisits {
		return
	}
	c.visits[key]++
	c.comparing[key] = true
	defer delete(c.comparing, key)
	was, okA := c.readView(a)
	is, okB := c.readView(b)
	if !okA || !okB || at.depth > maxCompareDepth {
		if !c.stopped {
			c.differences = append(c.differences, Difference{Kind: "too-complex", Pointer: at.pointer, Name: at.name})
		}
		c.stopped = true
		return
	}
	isAgainstPlain, groups := alternativeAgainstPlain(was, writtenA, is, writtenB)
	if isAgainstPlain {
		c.inheritNotes(was)
		c.inheritNotes(is)
	}
	if !at.ignoresNotes {
		c.compareNotes(was, is, at)
	}
	if isAgainstPlain {
		c.addLocal(c.compareAlternatives(groups[0], groups[1], at), a, b, at)
		return
	}
	local := compareValues(was, is, at)
	for _, name := range sortedNames(was.opaque, is.opaque) {
		a := was.opaque[name]
		b := is.opaque[name]
		if !equalLists(a, b) {
			local = append(local, Difference{
				Kind: "undecided", Pointer: at.keywordPointer(name), Name: at.name,
				Was: singleOrList(a), Is: singleOrList(b),
			})
		}
	}
	if len(was.groups) == 1 && len(is.groups) == 1 {
		local = append(local, c.compareAlternatives(was.groups[0], is.groups[0], at)...)
	} else {
		local = append(local, c.compareGroups(was, is, at)...)
	}
	c.addLocal(local, a, b, at)
	c.compareSets(was, is, at)
	if was.types&is.types&Object != 0 {
		c.compareMembers(was, is, at)
	}
	if was.types&is.types&Array != 0 {
		c.compareItems(was, is, at)
	}
}

// isUnchanged reports whether the parts are byte for byte equal and refer only to equal definitions.
// It saves the comparison of schemas without a difference.
func (c *comparison) isUnchanged(a, b []part) bool {
	return slices.EqualFunc(a, b, func(x, y part) bool {
		if !bytes.Equal(x.raw, y.raw) {
			return false
		}
		refs, local := references(x.raw)
		return refs == 0 || refs == local && c.sameDefs
	})
}

// references counts all references in a schema, and the references to a definition. It may count
// too many in all, but never too few.
func references(raw json.RawMessage) (total, local int) {
	total = bytes.Count(raw, []byte(`Ref"`)) + bytes.Count(raw, []byte(`$ref"`)) + bytes.Count(raw, []byte(`\u`))
	return total, bytes.Count(raw, []byte(`"$ref":"#/$defs/`)) + bytes.Count(raw, []byte(`"$ref":"#/definitions/`))
}

// replaceAliases replaces parts that consist of a single reference by its target.
func (c *comparison) replaceAliases(parts []part) []part {
	parts = slices.Clone(parts)
	for i := range parts {
		for range maxVisits {
			members, err := jsonraw.Object(parts[i].raw)
			if err != nil || len(members) != 1 || members[0].Name != "$ref" {
				break
			}
			ref, _ := jsonraw.Text(members[0].Value)
			target, ok := parts[i].resolve(ref)
			if !ok {
				break
			}
			parts[i] = target
		}
	}
	return parts
}

// joinPointers returns a key for some parts of one document.
func joinPointers(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.pointer + "\x00")
	}
	return b.String()
}

// alternativeAgainstPlain reports whether one side consists of a single anyOf or oneOf and the
// other has neither. It then returns both as groups: the other side becomes the only alternative.
func alternativeAgainstPlain(was *view, a []part, is *view, b []part) (bool, [2]group) {
	if len(was.groups) == 1 && len(is.groups) == 0 && was.hasOnlyGroups() {
		return true, [2]group{was.groups[0], {"", [][]part{b}}}
	}
	if len(is.groups) == 1 && len(was.groups) == 0 && is.hasOnlyGroups() {
		return true, [2]group{{"", [][]part{a}}, is.groups[0]}
	}
	return false, [2]group{}
}

// inheritNotes adds the notes of the only alternative that is not null to v.
func (c *comparison) inheritNotes(v *view) {
	if len(v.groups) == 0 {
		return
	}
	var only *view
	for _, alternative := range v.groups[0].alternatives {
		read, ok := c.readView(alternative)
		if !ok {
			return
		}
		if read.types == Null {
			continue
		}
		if only != nil { // several alternatives that are not null
			return
		}
		only = read
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

// hasOnlyGroups reports whether the view has no constraints except its groups.
func (v *view) hasOnlyGroups() bool {
	limitsValues := v.types != AllTypes || v.enum != nil || len(v.limits)+len(v.sets)+len(v.opaque) > 0
	limitsMembers := v.isClosed || len(v.members)+len(v.required)+len(v.otherMembers) > 0
	limitsItems := v.isUnique || len(v.prefix)+len(v.items) > 0
	return !limitsValues && !limitsMembers && !limitsItems
}

// addLocal adds the differences of one place. It adds "equivalent-form" instead if generated values
// show no difference.
func (c *comparison) addLocal(local []Difference, a, b []part, at place) {
	if len(local) == 0 {
		return
	}
	tried := c.trySamples(a, b)
	if tried.isSame {
		c.add(at, "equivalent-form", "", conjunctionJSON(a), conjunctionJSON(b))
		return
	}
	for _, d := range local {
		// A further alternative of oneOf rejects the values that it shares with the others.
		isOfOneOf := strings.Contains(d.Pointer[len(at.pointer):], "/oneOf/")
		mayReject := d.Kind == "alternative-added" && (!tried.isConclusive || tried.lost != "")
		mayAccept := d.Kind == "alternative-removed" && (!tried.isConclusive || tried.gained != "")
		if isOfOneOf && (mayReject || mayAccept) {
			d.Kind = "undecided"
		}
		if d.Kind == "undecided" {
			d.Note = tried.lost
			if d.Note == "" {
				d.Note = tried.gained
			}
		}
		c.differences = append(c.differences, d)
	}
}

// conjunctionJSON returns a conjunction as one JSON value for display, or nil if the conjunction is
// empty.
func conjunctionJSON(parts []part) json.RawMessage {
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return jsonraw.Compact(parts[0].raw)
	}
	raws := make([]json.RawMessage, len(parts))
	for i, p := range parts {
		raws[i] = jsonraw.Compact(p.raw)
	}
	return jsonraw.With(nil, "allOf", jsonraw.List(raws))
}

// compareNotes compares the keywords that do not affect which values are valid.
func (c *comparison) compareNotes(was, is *view, at place) {
	for _, name := range sortedNames(was.notes, is.notes) {
		a := was.notes[name]
		b := is.notes[name]
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

// changeSuffix returns the last part of a difference's kind. Either value may be nil.
func changeSuffix(a, b json.RawMessage) string {
	if a == nil {
		return "-added"
	}
	if b == nil {
		return "-removed"
	}
	return "-changed"
}

// equalLists reports whether two lists have the same bytes.
func equalLists(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}
