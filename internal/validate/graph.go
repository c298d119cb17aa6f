package validate

import (
	"cmp"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A graph is the compiled schema, with every subschema that checking a value
// could come to.
type graph struct {
	all []*jsonschema.Schema // in the order of their locations
	// dynamic has, by name, where a $dynamicRef can lead to; recursive where a
	// $recursiveRef can. Which one it is depends on how the evaluation came
	// there. A bound takes all.
	dynamic   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
	root      *jsonschema.Schema
}

// reach collects what is reachable from the first of some schemas, the root,
// and from the others.
func reach(root *jsonschema.Schema, from []*jsonschema.Schema) *graph {
	g := &graph{dynamic: map[string][]*jsonschema.Schema{}, root: root}
	seen := map[*jsonschema.Schema]bool{}
	var entered []*jsonschema.Schema
	for todo := from; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		g.all = append(g.all, s)
		entered = append(entered, s.Ref, s.RecursiveRef)
		if s.ID != "" {
			entered = append(entered, s)
		}
		here, below := subschemas(s)
		todo = append(append(todo, here...), below...)
	}
	g.index(entered)
	return g
}

func (g *graph) index(entered []*jsonschema.Schema) {
	byPlace := func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) }
	slices.SortFunc(g.all, byPlace)
	for _, s := range g.all {
		if s.DynamicAnchor != "" {
			g.dynamic[s.DynamicAnchor] = append(g.dynamic[s.DynamicAnchor], s)
		}
	}
	// The outermost schema wins, and no schema is further out than the root.
	if g.root.RecursiveAnchor {
		g.recursive = []*jsonschema.Schema{g.root}
		return
	}
	entered = slices.DeleteFunc(append(entered, g.root), func(s *jsonschema.Schema) bool { return s == nil })
	slices.SortFunc(entered, byPlace)
	g.recursive = slices.Compact(entered)
}

// maxGuesses bounds how many pairs there may be of a $dynamicRef and a place
// that it can lead to.
const maxGuesses = 50_000

// tangled refuses a schema with too many such pairs.
func (g *graph) tangled() error {
	guesses := 0
	for _, s := range g.all {
		if s.DynamicRef != nil {
			guesses += len(g.dynamic[s.DynamicRef.Anchor])
		}
		if s.RecursiveRef != nil {
			guesses += len(g.recursive)
		}
	}
	if guesses > maxGuesses {
		return tooComplex("", "its dynamic references can lead to too many places")
	}
	return nil
}

// here lists the subschemas that a schema applies, or may apply, to the value
// that it is applied to.
func (g *graph) here(s *jsonschema.Schema) []*jsonschema.Schema {
	here, _ := subschemas(s)
	add := func(target *jsonschema.Schema, others []*jsonschema.Schema) {
		for _, sub := range others {
			if sub != target {
				here = append(here, sub)
			}
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		add(s.DynamicRef.Ref, g.dynamic[s.DynamicRef.Anchor])
	}
	if s.RecursiveRef != nil && s.RecursiveRef.RecursiveAnchor {
		add(s.RecursiveRef, g.recursive)
	}
	return here
}
