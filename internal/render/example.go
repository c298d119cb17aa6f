package render

import (
	"encoding/json"
	"slices"

	"mcpc/internal/wire"
)

// Example gives a small value that satisfies a schema: the members that must be
// there, with the values that the schema itself proposes (const, examples,
// default, enum) or else the simplest ones that its limits allow. It is a
// proposal: what not and cross references between members demand is not looked
// at. Any schema gets a value, in bounded time.
func Example(inputSchema json.RawMessage) json.RawMessage {
	doc := newDocument(inputSchema)
	g := &maker{doc: doc, nodes: 2000}
	return g.make([]schema{doc.schema()}, "", 0, 0)
}

// A maker makes values. nodes bounds how many.
type maker struct {
	doc   *document
	nodes int
}

const (
	maxMakeDepth = 24
	maxMakeItems = 50
	maxMakeText  = 1024
)

// make gives a value that satisfies all parts. name is the member that it will
// be, from which a plausible text follows; variant is not 0 where an array wants
// values that differ.
func (g *maker) make(parts []schema, name string, depth, variant int) json.RawMessage {
	g.nodes--
	n := g.need(parts)
	if proposed := n.proposed(); variant < len(proposed) {
		return proposed[variant]
	}
	if g.nodes < 0 || depth > maxMakeDepth || g.doc.spent() {
		return json.RawMessage("null")
	}
	switch n.kind() {
	case "object":
		return g.object(n, depth, variant)
	case "array":
		return g.array(n, depth, variant)
	case "string":
		return wire.Quote(n.sampleText(name, variant))
	case "integer", "number":
		return n.sampleNumber(variant)
	case "boolean":
		return json.RawMessage([]string{"true", "false"}[variant%2])
	}
	return json.RawMessage("null")
}

func (g *maker) object(n *need, depth, variant int) json.RawMessage {
	names := n.memberNames()
	out := json.RawMessage("{")
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, wire.Quote(name)...), ':')
		out = append(out, g.make(n.memberParts(name), name, depth+1, variant)...)
	}
	return append(out, '}')
}

// array makes one item even where none is asked for, because a call with an
// empty list rarely shows anything.
func (g *maker) array(n *need, depth, variant int) json.RawMessage {
	count := max(n.minItems, 1)
	if n.maxItems >= 0 {
		count = min(count, n.maxItems)
	}
	if n.minItems == 0 && (depth >= maxMakeDepth/2 || g.nodes < 100 || n.endless()) {
		count = 0
	}
	out := json.RawMessage("[")
	for i := range min(count, maxMakeItems) {
		if i > 0 {
			out = append(out, ',')
		}
		differ := variant
		if n.unique {
			differ += i
		}
		out = append(out, g.make(n.itemParts(i), "", depth+1, differ)...)
	}
	return append(out, ']')
}

// endless says that the items are described by the array's own schema.
func (n *need) endless() bool {
	return slices.ContainsFunc(n.itemParts(0), schema.circular)
}

// flatten gives parts with everything that they include: allOf, one alternative
// each of anyOf and oneOf, and a condition together with its consequence, since
// what satisfies both satisfies the rule.
func (g *maker) flatten(parts []schema) []schema {
	var flat []schema
	queue := slices.Clone(parts)
	for len(queue) > 0 && len(flat) < 100 {
		s := queue[0]
		queue = queue[1:]
		flat = append(flat, s)
		for _, raw := range s.list("allOf") {
			queue = append(queue, s.at(raw))
		}
		for _, name := range []string{"if", "then"} {
			if raw := s.get(name); raw != nil && s.get("then") != nil {
				queue = append(queue, s.at(raw))
			}
		}
		for _, name := range []string{"oneOf", "anyOf"} {
			if option, ok := g.choose(s, s.list(name)); ok {
				queue = append(queue, option)
			}
		}
	}
	return flat
}

// choose takes the first alternative of s that is not null, can be followed, does
// not lead back to itself and agrees with the types of s.
func (g *maker) choose(s schema, options []json.RawMessage) (schema, bool) {
	best, bestCost := schema{}, -1
	for _, raw := range options {
		option := s.at(raw)
		cost := 0
		if option.lost != "" || string(raw) == "false" {
			cost += 8
		}
		if !agree(s.types(), option.types()) {
			cost += 4
		}
		if option.circular() {
			cost += 2
		}
		if types := option.types(); len(types) == 1 && types[0] == "null" {
			cost++
		}
		if bestCost < 0 || cost < bestCost {
			best, bestCost = option, cost
		}
	}
	return best, bestCost >= 0
}

// agree says whether a value can have a type of both lists; an empty list
// allows any.
func agree(a, b []string) bool { return len(a) == 0 || len(b) == 0 || len(shared(a, b)) > 0 }

// shared gives the types of a that b allows, too: an integer is a number.
func shared(a, b []string) []string {
	var both []string
	for _, t := range a {
		switch {
		case slices.Contains(b, t):
			both = append(both, t)
		case t == "integer" && slices.Contains(b, "number"):
			both = append(both, t)
		case t == "number" && slices.Contains(b, "integer"):
			both = append(both, "integer")
		}
	}
	return both
}
