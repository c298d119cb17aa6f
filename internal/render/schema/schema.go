// Package schema shows JSON Schemas: as fields with their constraints, as the parameters
// of a signature, and as an example value.
package schema

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// A document is a JSON Schema that is being shown, with the means to follow its
// own references. A schema comes from a stranger: the budget bounds the bytes
// that are parsed for it, so that no shape of it can keep a reader waiting.
type document struct {
	root     json.RawMessage
	budget   int
	resolved map[string]json.RawMessage
}

func newDocument(root json.RawMessage) *document {
	return &document{
		root:     root,
		budget:   min(64*len(root)+1<<20, 64<<20),
		resolved: map[string]json.RawMessage{},
	}
}

// exhausted says that the budget is used up, and what is shown is not the whole.
func (d *document) exhausted() bool { return d.budget <= 0 }

func (d *document) charge(raw []byte) bool {
	d.budget -= len(raw) + 64
	return d.budget > 0
}

func (d *document) object(raw json.RawMessage) jsonraw.Members {
	if !d.charge(raw) {
		return nil
	}
	members, _ := jsonraw.Object(raw)
	return members
}

func (d *document) array(raw json.RawMessage) []json.RawMessage {
	if !d.charge(raw) {
		return nil
	}
	items, _ := jsonraw.Array(raw)
	return items
}

// A schema is one place in a document, its reference followed.
type schema struct {
	doc *document
	raw json.RawMessage
	// members are the schema's own, before those of the schema that it refers
	// to, so that the nearer one is found first.
	members jsonraw.Members
	// refs are the references that led here, the outermost first.
	refs []string
	// unresolved is a reference that leads nowhere within the document.
	unresolved string
}

// schema opens the document's root, which a reference "#" leads to.
func (d *document) schema() schema { return d.open(d.root, []string{"#"}) }

// maxRefs bounds a chain of references. A longer one goes in a circle, or is
// written to tire its reader.
const maxRefs = 32

func (d *document) open(raw json.RawMessage, refs []string) schema {
	s := schema{doc: d, raw: raw, refs: slices.Clip(refs)}
	for {
		members := d.object(raw)
		s.members = slices.Concat(s.members, members)
		ref := cmp.Or(members.Text("$ref"), members.Text("$dynamicRef"))
		if ref == "" {
			return s
		}
		target, ok := d.resolve(ref)
		if !ok || len(s.refs) >= maxRefs {
			s.unresolved = ref
			return s
		}
		s.refs = append(s.refs, ref)
		raw = target
	}
}

// at opens a schema that stands below s.
func (s schema) at(raw json.RawMessage) schema { return s.doc.open(raw, s.refs) }

// circular says that s was reached through a reference that led to itself.
func (s schema) circular() bool {
	if len(s.refs) < 2 {
		return false
	}
	last := s.refs[len(s.refs)-1]
	return slices.Contains(s.refs[:len(s.refs)-1], last)
}

// resolve follows a reference within the document: a JSON pointer or the name of
// an anchor. Nothing else is ever fetched.
func (d *document) resolve(ref string) (json.RawMessage, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	if found, ok := d.resolved[ref]; ok {
		return found, found != nil
	}
	if plain, err := url.PathUnescape(fragment); err == nil {
		fragment = plain
	}
	var found json.RawMessage
	switch {
	case fragment == "":
		found = d.root
	case fragment[0] == '/':
		found = d.pointer(fragment)
	default:
		found = d.anchor(fragment)
	}
	d.resolved[ref] = found
	return found, found != nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func (d *document) pointer(path string) json.RawMessage {
	at := d.root
	for _, step := range strings.Split(path, "/")[1:] {
		step = unescape.Replace(step)
		if len(at) > 0 && at[0] == '[' {
			items := d.array(at)
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(items) {
				return nil
			}
			at = items[i]
			continue
		}
		next, ok := d.object(at).Get(step)
		if !ok {
			return nil
		}
		at = next
	}
	return at
}

// anchor looks where schemas keep what is referred to by name.
func (d *document) anchor(name string) json.RawMessage {
	root := d.object(d.root)
	for _, place := range []string{"$defs", "definitions"} {
		raw, _ := root.Get(place)
		for _, m := range d.object(raw) {
			def := d.object(m.Value)
			if def.Text("$anchor") == name || def.Text("$dynamicAnchor") == name || def.Text("$id") == "#"+name {
				return m.Value
			}
		}
	}
	return nil
}

func (s schema) get(name string) json.RawMessage {
	raw, _ := s.members.Get(name)
	return raw
}

func (s schema) list(name string) []json.RawMessage {
	if raw := s.get(name); len(raw) > 0 && raw[0] == '[' {
		return s.doc.array(raw)
	}
	return nil
}

// parts are s and everything that its allOf adds to it.
func (s schema) parts() []schema {
	parts := []schema{s}
	for _, raw := range s.list("allOf") {
		part := s.at(raw)
		if !part.circular() && len(parts) < 100 {
			parts = append(parts, part.parts()...)
		}
	}
	return parts
}

// first is the member name of s, or of the first part that has it.
func (s schema) first(name string) json.RawMessage {
	if raw := s.get(name); raw != nil || s.get("allOf") == nil {
		return raw
	}
	for _, part := range s.parts()[1:] {
		if raw := part.get(name); raw != nil {
			return raw
		}
	}
	return nil
}

func (s schema) text(name string) string {
	text, _ := jsonraw.Text(s.first(name))
	return text
}

// A property is one member that an object may have.
type property struct {
	name     string
	schema   schema
	required bool
}

// properties are the members of s and of its allOf, in the order in which they
// are declared; a required name that no one declares comes last.
func (s schema) properties() []property {
	var all []property
	place := map[string]int{}
	var required []string
	for _, part := range s.parts() {
		for _, m := range s.doc.object(part.get("properties")) {
			if _, twice := place[m.Name]; !twice {
				place[m.Name] = len(all)
				all = append(all, property{name: m.Name, schema: part.at(m.Value)})
			}
		}
		for _, raw := range part.list("required") {
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
			all = append(all, property{name: name, schema: s.at(json.RawMessage("true"))})
		}
		all[i].required = true
	}
	return all
}

// types are the declared types of s.
func (s schema) types() []string {
	raw := s.first("type")
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

// alternatives are the schemas of anyOf or oneOf.
func (s schema) alternatives() []schema {
	items := s.list("oneOf")
	if items == nil {
		items = s.list("anyOf")
	}
	all := make([]schema, len(items))
	for i, raw := range items {
		all[i] = s.at(raw)
	}
	return all
}

// item is the schema of an array's items; what is said of single places
// (prefixItems) is left to the JSON.
func (s schema) item() (schema, bool) {
	raw := s.first("items")
	if len(raw) == 0 || raw[0] == '[' {
		return schema{doc: s.doc}, false
	}
	return s.at(raw), true
}
