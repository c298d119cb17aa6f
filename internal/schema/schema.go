// Package schema reads JSON Schemas as data: what a reference leads to, which types, members and alternatives a schema
// declares, where its subschemas stand, and an example of a value. It checks no values; package validate does.
//
// Compare compares two schemas by what they accept: it names each place at which one is narrower or wider than the
// other, with $ref and allOf resolved. It does not know whether a schema is for arguments or results, nor which
// difference matters.
//
// Schemas come from strangers. Nothing is fetched, a budget bounds the bytes that are parsed for a document or a
// comparison, and a comparison that exceeds it has the difference "too-complex".
package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// A Document is a JSON Schema with the means to follow its own references.
type Document struct {
	root     json.RawMessage
	budget   *int
	resolved map[string]Place
	// objects are the members of the objects through which references led, by pointer.
	objects map[string]map[string]json.RawMessage
	anchors map[string]Place
}

// A Place is a value in a document and its JSON pointer. Raw is nil if there is none.
type Place struct {
	Raw  json.RawMessage
	Path string
}

// New returns a document with a budget of its own, in proportion to its size.
func New(root json.RawMessage) *Document {
	budget := min(64*len(root)+1<<20, 64<<20)
	return WithBudget(root, &budget)
}

// WithBudget returns a document that takes the bytes it parses from a budget that the caller shares.
func WithBudget(root json.RawMessage, budget *int) *Document {
	return &Document{root: root, budget: budget}
}

// Bytes returns the whole document.
func (d *Document) Bytes() json.RawMessage { return d.root }

// Exhausted reports whether the budget is used up: what was read is not the whole.
func (d *Document) Exhausted() bool { return *d.budget <= 0 }

func (d *Document) charge(raw []byte) bool {
	*d.budget -= len(raw) + 64
	return *d.budget > 0
}

func (d *Document) object(raw json.RawMessage) jsonraw.Members {
	if !d.charge(raw) {
		return nil
	}
	members, _ := jsonraw.Object(raw)
	return members
}

func (d *Document) array(raw json.RawMessage) []json.RawMessage {
	if !d.charge(raw) {
		return nil
	}
	items, _ := jsonraw.Array(raw)
	return items
}

// Resolve follows a reference within the document: "#" and a JSON pointer or the name of an anchor. It reports false
// for a reference that leads out of the document or to nothing.
func (d *Document) Resolve(ref string) (Place, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return Place{}, false
	}
	if found, ok := d.resolved[ref]; ok {
		return found, found.Raw != nil
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	var found Place
	switch {
	case fragment == "":
		found.Raw = d.root
	case fragment[0] == '/':
		found = d.pointer(fragment)
	default:
		if d.anchors == nil {
			d.anchors = anchors(d)
		}
		found = d.anchors[fragment]
	}
	if d.resolved == nil {
		d.resolved = map[string]Place{}
	}
	d.resolved[ref] = found
	return found, found.Raw != nil
}

// pointer follows a JSON pointer from the root.
func (d *Document) pointer(path string) Place {
	at := Place{Raw: d.root}
	for step := range strings.SplitSeq(path[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		next := d.step(at, name)
		if next == nil {
			return Place{}
		}
		at = Place{Raw: next, Path: jsonraw.Pointer(at.Path, name)}
	}
	return at
}

// step returns a member of an object or an item of an array; nil if there is none. Each object is parsed once.
func (d *Document) step(at Place, name string) json.RawMessage {
	if members, known := d.objects[at.Path]; known {
		return members[name]
	}
	if len(at.Raw) > 0 && at.Raw[0] == '[' {
		items := d.array(at.Raw)
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(items) {
			return nil
		}
		return items[i]
	}
	if !d.charge(at.Raw) {
		return nil
	}
	members, _ := jsonraw.Object(at.Raw)
	byName := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if byName[m.Name] == nil {
			byName[m.Name] = m.Value
		}
	}
	if d.objects == nil {
		d.objects = map[string]map[string]json.RawMessage{}
	}
	d.objects[at.Path] = byName
	return byName[name]
}

// A Schema is one schema of a document, its reference followed.
type Schema struct {
	doc *Document
	Raw json.RawMessage
	// members are the schema's own, before those of the schema that it refers
	// to, so that the nearer one is found first.
	members jsonraw.Members
	// refs are the references that led here, the outermost first.
	refs []string
	// Unresolved is a reference that leads nowhere within the document.
	Unresolved string
}

// Schema opens the document's root, which a reference "#" leads to.
func (d *Document) Schema() Schema { return d.open(d.root, []string{"#"}) }

// maxRefs bounds a chain of references. A longer one goes in a circle, or is
// written to tire its reader.
const maxRefs = 32

func (d *Document) open(raw json.RawMessage, refs []string) Schema {
	s := Schema{doc: d, Raw: raw, refs: slices.Clip(refs)}
	for {
		members := d.object(raw)
		if s.members == nil {
			s.members = members
		} else {
			s.members = slices.Concat(s.members, members)
		}
		ref := members.Text("$ref")
		if ref == "" {
			ref = members.Text("$dynamicRef")
		}
		if ref == "" {
			return s
		}
		target, ok := d.Resolve(ref)
		if !ok || len(s.refs) >= maxRefs {
			s.Unresolved = ref
			return s
		}
		s.refs = append(s.refs, ref)
		raw = target.Raw
	}
}

// At opens a schema that stands below s.
func (s Schema) At(raw json.RawMessage) Schema { return s.doc.open(raw, s.refs) }

// Document returns the document of s.
func (s Schema) Document() *Document { return s.doc }

// Ref returns the last reference that led to s, "#" if there was none.
func (s Schema) Ref() string { return s.refs[len(s.refs)-1] }

// IsCircular reports whether s was reached through a reference that led to itself.
func (s Schema) IsCircular() bool {
	return len(s.refs) > 1 && slices.Contains(s.refs[:len(s.refs)-1], s.Ref())
}

// Get returns a keyword of s, without what allOf adds to it; nil if it is absent.
func (s Schema) Get(name string) json.RawMessage { return s.members.Value(name) }

// List returns the items of a keyword of s that is an array, else nil.
func (s Schema) List(name string) []json.RawMessage {
	if raw := s.Get(name); len(raw) > 0 && raw[0] == '[' {
		return s.doc.array(raw)
	}
	return nil
}

// parts are s and everything that its allOf adds to it.
func (s Schema) parts() []Schema {
	parts := []Schema{s}
	for _, raw := range s.List("allOf") {
		part := s.At(raw)
		if !part.IsCircular() && len(parts) < 100 {
			parts = append(parts, part.parts()...)
		}
	}
	return parts
}

// First returns a keyword of s, or of the first schema of its allOf that has it.
func (s Schema) First(name string) json.RawMessage {
	if raw := s.Get(name); raw != nil || s.Get("allOf") == nil {
		return raw
	}
	for _, part := range s.parts()[1:] {
		if raw := part.Get(name); raw != nil {
			return raw
		}
	}
	return nil
}

// Text returns a keyword that is a string, as First does; "" if there is none.
func (s Schema) Text(name string) string {
	text, _ := jsonraw.Text(s.First(name))
	return text
}

// A Property is one member that an object may have.
type Property struct {
	Name     string
	Schema   Schema
	Required bool
}

// Properties returns the members of s and of its allOf, in the order in which they
// are declared; a required name that no schema declares comes last.
func (s Schema) Properties() []Property {
	var all []Property
	place := map[string]int{}
	var required []string
	for _, part := range s.parts() {
		members := part.Members("properties")
		all = slices.Grow(all, len(members))
		for _, m := range members {
			if _, twice := place[m.Name]; !twice {
				place[m.Name] = len(all)
				all = append(all, Property{Name: m.Name, Schema: part.At(m.Value)})
			}
		}
		for _, raw := range part.List("required") {
			if name, ok := jsonraw.Text(raw); ok {
				required = append(required, name)
			}
		}
	}
	for _, name := range required {
		i, ok := place[name]
		if !ok {
			i = len(all)
			place[name] = i
			all = append(all, Property{Name: name, Schema: s.At(json.RawMessage("true"))})
		}
		all[i].Required = true
	}
	return all
}

// Members returns the members of a keyword of s that is an object, as "patternProperties".
func (s Schema) Members(name string) jsonraw.Members { return s.doc.object(s.Get(name)) }

// Types returns the declared types of s, nil if there are none.
func (s Schema) Types() []string {
	raw := s.First("type")
	if one, ok := jsonraw.Text(raw); ok {
		return []string{one}
	}
	var types []string
	for _, item := range s.doc.array(raw) {
		if one, ok := jsonraw.Text(item); ok {
			types = append(types, one)
		}
	}
	return types
}

// Alternatives returns the schemas of oneOf, or else of anyOf.
func (s Schema) Alternatives() []Schema {
	items := s.List("oneOf")
	if items == nil {
		items = s.List("anyOf")
	}
	all := make([]Schema, len(items))
	for i, raw := range items {
		all[i] = s.At(raw)
	}
	return all
}

// Item returns the schema of an array's items; what is said of single places (prefixItems) is left out.
func (s Schema) Item() (Schema, bool) {
	raw := s.First("items")
	if len(raw) == 0 || raw[0] == '[' {
		return Schema{doc: s.doc, refs: s.refs[:1]}, false
	}
	return s.At(raw), true
}
