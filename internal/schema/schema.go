// Package schema reads JSON Schemas as data: it resolves references, lists the types, members,
// alternatives and subschemas that a schema declares, and generates example values. It does not
// validate values; package validate does.
//
// Compare reports each place at which one schema accepts fewer or more values than another. It
// resolves $ref and allOf. It does not know whether a schema describes arguments or results, or
// which differences matter.
//
// Schemas are untrusted input. The package fetches nothing. A budget bounds the bytes parsed for
// a document or a comparison; a comparison that exceeds it reports the difference "too-complex".
package schema

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// A Document is a JSON Schema that can resolve its own references.
type Document struct {
	root     json.RawMessage
	budget   *int
	resolved map[string]Place
	// objects caches the parsed objects on the way to a reference's target, by JSON pointer.
	objects map[string]map[string]json.RawMessage
	anchors map[string]Place
}

// A Place is a value in a document and its JSON pointer. Raw is nil if the value does not exist.
type Place struct {
	Raw  json.RawMessage
	Path string
}

// New returns a document with its own parsing budget, in proportion to its size.
func New(root json.RawMessage) *Document {
	budget := min(64*len(root)+1<<20, 64<<20)
	return WithBudget(root, &budget)
}

// WithBudget returns a document that charges the bytes it parses to a budget shared by the caller.
func WithBudget(root json.RawMessage, budget *int) *Document {
	return &Document{root: root, budget: budget}
}

// Bytes returns the whole document.
func (d *Document) Bytes() json.RawMessage { return d.root }

// Exhausted reports whether the budget is used up, so that reads may be incomplete.
func (d *Document) Exhausted() bool { return *d.budget <= 0 }

// charge takes the bytes of raw from the budget and reports whether any budget is left.
func (d *Document) charge(raw []byte) bool {
	*d.budget -= len(raw) + 64
	return *d.budget > 0
}

// parseObject returns the members of an object, nil if the budget is used up.
func (d *Document) parseObject(raw json.RawMessage) jsonraw.Members {
	if !d.charge(raw) {
		return nil
	}
	members, _ := jsonraw.Object(raw)
	return members
}

// parseArray returns the items of an array, nil if the budget is used up.
func (d *Document) parseArray(raw json.RawMessage) []json.RawMessage {
	if !d.charge(raw) {
		return nil
	}
	items, _ := jsonraw.Array(raw)
	return items
}

// Resolve follows a reference within the document: "#" and a JSON pointer or an anchor name. It
// returns false if the reference leaves the document or its target does not exist.
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
	if fragment == "" {
		found.Raw = d.root
	} else if fragment[0] == '/' {
		found = d.followPointer(fragment)
	} else {
		if d.anchors == nil {
			d.anchors = findAnchors(d)
		}
		found = d.anchors[fragment]
	}
	if d.resolved == nil {
		d.resolved = map[string]Place{}
	}
	d.resolved[ref] = found
	return found, found.Raw != nil
}

// followPointer follows a JSON pointer from the root. It returns the zero Place if the target does not
// exist.
func (d *Document) followPointer(path string) Place {
	current := Place{Raw: d.root}
	for token := range strings.SplitSeq(path[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		next := d.child(current, name)
		if next == nil {
			return Place{}
		}
		current = Place{Raw: next, Path: jsonraw.Pointer(current.Path, name)}
	}
	return current
}

// child returns a member of the object or an item of the array at a place, or nil. It parses each object
// only once.
func (d *Document) child(parent Place, name string) json.RawMessage {
	if members, isCached := d.objects[parent.Path]; isCached {
		return members[name]
	}
	if len(parent.Raw) > 0 && parent.Raw[0] == '[' {
		items := d.parseArray(parent.Raw)
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(items) {
			return nil
		}
		return items[i]
	}
	if !d.charge(parent.Raw) {
		return nil
	}
	members, _ := jsonraw.Object(parent.Raw)
	byName := make(map[string]json.RawMessage, len(members))
	for _, m := range members {
		if byName[m.Name] == nil {
			byName[m.Name] = m.Value
		}
	}
	if d.objects == nil {
		d.objects = map[string]map[string]json.RawMessage{}
	}
	d.objects[parent.Path] = byName
	return byName[name]
}

// A Schema is one schema of a document, with its reference resolved.
type Schema struct {
	doc *Document
	Raw json.RawMessage
	// members are the schema's own keywords, followed by those in the schema it refers to. The
	// first match is therefore the schema's own.
	members jsonraw.Members
	// refs are the references that were followed to reach the schema, the outermost first.
	refs []string
	// Unresolved is a reference without a target in the document.
	Unresolved string
}

// Schema opens the document's root, the target of "#".
func (d *Document) Schema() Schema { return d.openSchema(d.root, []string{"#"}) }

// maxRefs bounds a chain of references. A longer chain is circular or malicious.
const maxRefs = 32

// openSchema returns a schema with its reference followed; refs are the references on the way to it.
func (d *Document) openSchema(raw json.RawMessage, refs []string) Schema {
	s := Schema{doc: d, Raw: raw, refs: slices.Clip(refs)}
	for {
		members := d.parseObject(raw)
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

// At opens a subschema of s.
func (s Schema) At(raw json.RawMessage) Schema { return s.doc.openSchema(raw, s.refs) }

// Document returns the document that contains s.
func (s Schema) Document() *Document { return s.doc }

// Ref returns the last reference followed to reach s, or "#".
func (s Schema) Ref() string { return s.refs[len(s.refs)-1] }

// IsCircular reports whether s was reached through a reference to itself.
func (s Schema) IsCircular() bool {
	return len(s.refs) > 1 && slices.Contains(s.refs[:len(s.refs)-1], s.Ref())
}

// Get returns a keyword of s, or nil if it is absent. It ignores allOf.
func (s Schema) Get(name string) json.RawMessage { return s.members.Value(name) }

// List returns the items of an array keyword of s, or nil if the value is not an array.
func (s Schema) List(name string) []json.RawMessage {
	if raw := s.Get(name); len(raw) > 0 && raw[0] == '[' {
		return s.doc.parseArray(raw)
	}
	return nil
}

// maxParts bounds the schemas of an allOf.
const maxParts = 100

// withAllOf returns s and the schemas of its allOf, recursively.
func (s Schema) withAllOf() []Schema {
	parts := []Schema{s}
	for _, raw := range s.List("allOf") {
		part := s.At(raw)
		if !part.IsCircular() && len(parts) < maxParts {
			parts = append(parts, part.withAllOf()...)
		}
	}
	return parts
}

// First returns a keyword of s, or of the first schema in its allOf that has it.
func (s Schema) First(name string) json.RawMessage {
	if raw := s.Get(name); raw != nil || s.Get("allOf") == nil {
		return raw
	}
	for _, part := range s.withAllOf()[1:] {
		if raw := part.Get(name); raw != nil {
			return raw
		}
	}
	return nil
}

// Text returns a string keyword, looked up like First, or "".
func (s Schema) Text(name string) string {
	text, _ := jsonraw.Text(s.First(name))
	return text
}

// A Property is one declared member of an object.
type Property struct {
	Name     string
	Schema   Schema
	Required bool
}

// Properties returns the members that s and its allOf declare, in order of declaration. Required
// names without a schema come last.
func (s Schema) Properties() []Property {
	var all []Property
	index := map[string]int{} // in all, by name
	var required []string
	for _, part := range s.withAllOf() {
		members := part.Members("properties")
		all = slices.Grow(all, len(members))
		for _, m := range members {
			if _, isDeclared := index[m.Name]; !isDeclared {
				index[m.Name] = len(all)
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
		i, ok := index[name]
		if !ok {
			i = len(all)
			index[name] = i
			all = append(all, Property{Name: name, Schema: s.At(json.RawMessage("true"))})
		}
		all[i].Required = true
	}
	return all
}

// Members returns the members of an object keyword of s, such as "patternProperties".
func (s Schema) Members(name string) jsonraw.Members { return s.doc.parseObject(s.Get(name)) }

// Types returns the declared types of s, or nil.
func (s Schema) Types() []string {
	raw := s.First("type")
	if name, ok := jsonraw.Text(raw); ok {
		return []string{name}
	}
	var types []string
	for _, item := range s.doc.parseArray(raw) {
		if name, ok := jsonraw.Text(item); ok {
			types = append(types, name)
		}
	}
	return types
}

// Alternatives returns the schemas of oneOf, or of anyOf if oneOf is absent.
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

// Item returns the schema of an array's items, and false if it is not a single schema. It ignores
// prefixItems.
func (s Schema) Item() (Schema, bool) {
	raw := s.First("items")
	if len(raw) == 0 || raw[0] == '[' {
		return Schema{doc: s.doc, refs: s.refs[:1]}, false
	}
	return s.At(raw), true
}
