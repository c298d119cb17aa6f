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
	// At is its JSON pointer in the whole schema, Depth how many schemas it is inside of.
	At    string
	Depth int
	Raw   json.RawMessage
	// Members are those of an object; nil for a schema that is true or false.
	Members jsonraw.Members
	// Property is its name where it stands directly under properties.
	Property string
	// Plain is set where it is reached from the root through properties alone.
	Plain bool
}

// The bounds of a walk. A schema beyond them is reported as too large, and not walked
// any further.
const (
	MaxNodes = 5000
	MaxDepth = 64
	MaxBytes = 1 << 20
)

// A Tree is a schema as it was walked.
type Tree struct {
	Nodes []Node
	// Cut is set where a bound was reached.
	Cut bool
	raw json.RawMessage
}

// Walk lists the subschemas of a schema. It follows no reference, and its work is bounded. The values of default, const, enum and examples are data,
// even if they look like schemas.
func Walk(raw json.RawMessage) *Tree {
	t := &Tree{raw: raw}
	t.walk(Node{Raw: raw, Plain: true})
	return t
}

func (t *Tree) walk(n Node) {
	if len(t.Nodes) >= MaxNodes || n.Depth > MaxDepth {
		t.Cut = true
		return
	}
	if len(n.Raw) > 0 && n.Raw[0] == '{' {
		n.Members, _ = jsonraw.Object(n.Raw)
	}
	t.Nodes = append(t.Nodes, n)
	if len(n.Raw) > MaxBytes {
		t.Cut = true
		return
	}
	for _, m := range n.Members {
		at := jsonraw.Pointer(n.At, m.Name)
		switch {
		case len(m.Value) == 0:
		case m.Value[0] == '[' && slices.Contains(HoldList, m.Name):
			items, _ := jsonraw.Array(m.Value)
			for i, item := range items {
				t.walk(Node{At: at + "/" + strconv.Itoa(i), Depth: n.Depth + 1, Raw: item})
			}
		case slices.Contains(HoldOne, m.Name) && strings.IndexByte("{tf", m.Value[0]) >= 0:
			t.walk(Node{At: at, Depth: n.Depth + 1, Raw: m.Value})
		case m.Value[0] == '{' && slices.Contains(HoldMap, m.Name):
			members, _ := jsonraw.Object(m.Value)
			for _, p := range members {
				if len(p.Value) == 0 || p.Value[0] == '[' { // dependencies may be names
					continue
				}
				child := Node{At: jsonraw.Pointer(at, p.Name), Depth: n.Depth + 1, Raw: p.Value}
				if m.Name == "properties" {
					child.Property, child.Plain = p.Name, n.Plain
				}
				t.walk(child)
			}
		}
	}
}

// Depth is that of the deepest subschema.
func (t *Tree) Depth() (deepest int) {
	for i := range t.Nodes {
		deepest = max(deepest, t.Nodes[i].Depth)
	}
	return deepest
}

// A Ref is a reference, and what is wrong with it.
type Ref struct {
	At, Target string
	External   bool
}

// metaSchemas are the dialects that validators know without fetching them.
var metaSchemas = []string{"https://json-schema.org/draft/", "http://json-schema.org/draft-"}

// BadRefs returns the references that lead out of the schema, and those that lead nowhere.
func (t *Tree) BadRefs() (bad []Ref) {
	doc := New(t.raw)
	ids := t.ids()
	for _, n := range t.Nodes {
		for _, keyword := range []string{"$ref", "$dynamicRef"} {
			target, ok := jsonraw.Text(n.Members.Value(keyword))
			if !ok {
				continue
			}
			base, fragment, _ := strings.Cut(target, "#")
			ref := Ref{At: n.At + "/" + keyword, Target: target}
			switch {
			case base != "" && !isKnownBase(base, ids):
				ref.External = true
				bad = append(bad, ref)
			case base != "" || len(ids) > 1 || fragment == "": // of an embedded resource
			default:
				if _, ok := doc.Resolve(target); !ok {
					bad = append(bad, ref)
				}
			}
		}
	}
	return bad
}

func isKnownBase(base string, ids []string) bool {
	for _, id := range ids {
		if id = strings.TrimSuffix(id, "#"); id == base || strings.HasSuffix(id, "/"+strings.TrimPrefix(base, "/")) {
			return true
		}
	}
	return slices.ContainsFunc(metaSchemas, func(m string) bool { return strings.HasPrefix(base, m) })
}

// ids returns the $ids of all schemas, without those that are anchors.
func (t *Tree) ids() (ids []string) {
	for _, n := range t.Nodes {
		if id := n.Members.Text("$id"); id != "" && id[0] != '#' {
			ids = append(ids, id)
		}
	}
	return ids
}

// anchors returns the schemas of a document that have a name, by it: "$anchor", "$dynamicAnchor", and "$id" as draft-06
// and draft-07 have it ("#name").
func anchors(d *Document) map[string]Place {
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
			if _, known := found[name]; !known && name != "" {
				found[name] = Place{Raw: n.Raw, Path: n.At}
			}
		}
	}
	return found
}
