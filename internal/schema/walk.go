package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// A Node is a subschema.
type Node struct {
	// Pointer is the JSON pointer in the whole schema.
	Pointer string
	// Depth counts the schemas that contain this one.
	Depth int
	Raw   json.RawMessage
	// Members are the keywords. They are nil if the schema is true or false.
	Members jsonraw.Members
	// Property is the member's name if the schema is directly under properties.
	Property string
	// OnlyProperties is set if the path from the root uses properties only.
	OnlyProperties bool
}

// The limits of a walk. It stops at a schema that exceeds them and sets
// Tree.IsTruncated.
const (
	MaxNodes = 5000
	MaxDepth = 64
	MaxBytes = 1 << 20
)

// A Tree is a list of a schema's subschemas.
type Tree struct {
	Nodes []Node
	// IsTruncated is set if the walk reached a limit.
	IsTruncated bool
	raw         json.RawMessage
}

// Walk lists the subschemas of a schema within the limits above. It follows no references. It does
// not descend into default, const, enum and examples: their values are data.
func Walk(raw json.RawMessage) *Tree {
	t := &Tree{raw: raw}
	t.walk(Node{Raw: raw, OnlyProperties: true})
	return t
}

// walk adds n, after parsing its members, and the subschemas in it.
func (t *Tree) walk(n Node) {
	if len(t.Nodes) >= MaxNodes || n.Depth > MaxDepth {
		t.IsTruncated = true
		return
	}
	if len(n.Raw) > 0 && n.Raw[0] == '{' {
		n.Members, _ = jsonraw.Object(n.Raw)
	}
	t.Nodes = append(t.Nodes, n)
	if len(n.Raw) > MaxBytes {
		t.IsTruncated = true
		return
	}
	for _, m := range n.Members {
		pointer := jsonraw.Pointer(n.Pointer, m.Name)
		switch {
		case len(m.Value) == 0: // nothing to descend into
		case m.Value[0] == '[' && slices.Contains(HoldList, m.Name):
			items, _ := jsonraw.Array(m.Value)
			for i, item := range items {
				t.walk(Node{Pointer: pointer + "/" + strconv.Itoa(i), Depth: n.Depth + 1, Raw: item})
			}
		case slices.Contains(HoldOne, m.Name) && strings.IndexByte("{tf", m.Value[0]) >= 0: // an object, true or false
			t.walk(Node{Pointer: pointer, Depth: n.Depth + 1, Raw: m.Value})
		case m.Value[0] == '{' && slices.Contains(HoldMap, m.Name):
			members, _ := jsonraw.Object(m.Value)
			for _, p := range members {
				if len(p.Value) == 0 || p.Value[0] == '[' { // a list of names in dependencies
					continue
				}
				child := Node{Pointer: jsonraw.Pointer(pointer, p.Name), Depth: n.Depth + 1, Raw: p.Value}
				if m.Name == "properties" {
					child.Property = p.Name
					child.OnlyProperties = n.OnlyProperties
				}
				t.walk(child)
			}
		}
	}
}

// Depth returns the depth of the deepest subschema.
func (t *Tree) Depth() int {
	deepest := 0
	for i := range t.Nodes {
		deepest = max(deepest, t.Nodes[i].Depth)
	}
	return deepest
}

// A Ref is an invalid reference. External is set if it leaves the document.
type Ref struct {
	Pointer, Target string
	External        bool
}

// metaSchemas are the dialects that validators know without fetching them.
var metaSchemas = []string{"https://json-schema.org/draft/", "http://json-schema.org/draft-"}

// BadRefs returns the references that leave the schema and the references without a target in it.
func (t *Tree) BadRefs() []Ref {
	doc := New(t.raw)
	ids := t.ids()
	var bad []Ref
	for _, n := range t.Nodes {
		for _, keyword := range []string{"$ref", "$dynamicRef"} {
			target, ok := jsonraw.Text(n.Members.Value(keyword))
			if !ok {
				continue
			}
			base, fragment, _ := strings.Cut(target, "#")
			ref := Ref{Pointer: n.Pointer + "/" + keyword, Target: target}
			if base != "" && !isKnownBase(base, ids) {
				ref.External = true
				bad = append(bad, ref)
				continue
			}
			if base != "" || len(ids) > 1 || fragment == "" {
				continue // points to an embedded resource
			}
			if _, ok := doc.Resolve(target); !ok {
				bad = append(bad, ref)
			}
		}
	}
	return bad
}

// isKnownBase reports whether a reference's base URI is an element of ids or a known dialect.
func isKnownBase(base string, ids []string) bool {
	for _, id := range ids {
		id = strings.TrimSuffix(id, "#")
		if id == base || strings.HasSuffix(id, "/"+strings.TrimPrefix(base, "/")) {
			return true
		}
	}
	return slices.ContainsFunc(metaSchemas, func(m string) bool { return strings.HasPrefix(base, m) })
}

// ids returns the $id of each schema, except draft-06 anchors ("#name").
func (t *Tree) ids() []string {
	var ids []string
	for _, n := range t.Nodes {
		if id := n.Members.Text("$id"); id != "" && id[0] != '#' {
			ids = append(ids, id)
		}
	}
	return ids
}

// findAnchors returns the named schemas of a document by name: "$anchor", "$dynamicAnchor", and "$id"
// with "#name" as in draft-06 and draft-07.
func findAnchors(d *Document) map[string]Place {
	found := map[string]Place{}
	for _, n := range Walk(d.root).Nodes {
		if !d.charge(n.Raw) {
			break
		}
		names := []string{n.Members.Text("$anchor"), n.Members.Text("$dynamicAnchor")}
		if id, ok := strings.CutPrefix(n.Members.Text("$id"), "#"); ok {
			names = append(names, id)
		}
		for _, name := range names {
			if _, isFound := found[name]; !isFound && name != "" {
				found[name] = Place{Raw: n.Raw, Path: n.Pointer}
			}
		}
	}
	return found
}
