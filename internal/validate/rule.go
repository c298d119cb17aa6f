package validate

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A rulebook is the compiled schema as the bound on the work sees it.
type rulebook struct {
	of map[*jsonschema.Schema]*rule
	at map[string]*rule // by the library's location
}

// A rule is a subschema with what its evaluation costs and where it goes on to.
type rule struct {
	schema *jsonschema.Schema
	// rank orders rules so that one comes before those that it applies to the
	// same value.
	rank  int
	state int
	// fan is how many evaluations one evaluation becomes, on one value.
	fan int

	types   typeSet
	integer bool // a number has to be looked at to know its type
	choices int  // values in const and enum
	numbers int  // numbers among them
	limits  int  // keywords that compare numbers
	digits  int  // of the biggest number in any of these
	unique  bool
	dynamic bool

	here  []*rule
	when  []dependency // applied to the same value if it has a member
	names *rule

	members    map[string]*rule
	patterns   []named
	additional *rule
	leftover   *rule // unevaluatedProperties

	prefix    []*rule
	items     *rule
	contains  *rule
	remainder *rule // unevaluatedItems
}

type dependency struct {
	member string
	rule   *rule
}

type named struct {
	pattern *pattern
	rule    *rule
}

// rules turns the graph into rules. It refuses schemas that lead back to
// themselves without going into the value, and those that multiply.
func (g *graph) rules() (*rulebook, error) {
	book := &rulebook{
		of: make(map[*jsonschema.Schema]*rule, len(g.all)),
		at: make(map[string]*rule, len(g.all)),
	}
	for _, s := range g.all {
		r := &rule{schema: s}
		book.of[s], book.at[s.Location] = r, r
	}
	for _, s := range g.all {
		g.fill(book, book.of[s])
	}
	rank := len(g.all)
	for _, s := range g.all {
		if err := book.of[s].settle(&rank); err != nil {
			return nil, err
		}
	}
	return book, nil
}

func (g *graph) fill(book *rulebook, r *rule) {
	s, of := r.schema, book.of
	r.types = anyType
	if s.Types != nil && !s.Types.IsEmpty() {
		names := s.Types.ToStrings()
		r.types = typesNamed(names)
		r.integer = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	}
	r.dynamic = s.DynamicRef != nil || s.RecursiveRef != nil
	r.fillCosts()
	conditional := map[*jsonschema.Schema]bool{}
	depend := func(member string, sub *jsonschema.Schema) {
		if sub != nil {
			conditional[sub] = true
			r.when = append(r.when, dependency{member, of[sub]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.DependentSchemas)) {
		depend(name, s.DependentSchemas[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Dependencies)) {
		depend(name, asSchema(s.Dependencies[name]))
	}
	for _, sub := range g.here(s) {
		if !conditional[sub] {
			r.here = append(r.here, of[sub])
		}
	}
	r.fillBelow(of)
	r.takeOver(of)
}

func (r *rule) fillBelow(of map[*jsonschema.Schema]*rule) {
	s := r.schema
	if len(s.Properties) > 0 {
		r.members = make(map[string]*rule, len(s.Properties))
		for name, sub := range s.Properties {
			r.members[name] = of[sub]
		}
	}
	for re, sub := range s.PatternProperties {
		if p, ok := re.(*pattern); ok {
			r.patterns = append(r.patterns, named{p, of[sub]})
		}
	}
	r.additional = of[asSchema(s.AdditionalProperties)]
	r.leftover = of[s.UnevaluatedProperties]
	r.contains = of[s.Contains]
	r.remainder = of[s.UnevaluatedItems]
	r.items = of[s.Items2020]
	if r.items == nil {
		r.items = of[asSchema(s.Items)]
	}
	if r.items == nil {
		r.items = of[asSchema(s.AdditionalItems)]
	}
	for _, sub := range slices.Concat(s.PrefixItems, asSchemas(s.Items)) {
		r.prefix = append(r.prefix, of[sub])
	}
}

// fillCosts measures the values that a schema compares with.
func (r *rule) fillCosts() {
	s := r.schema
	if s.Const != nil {
		r.measure(*s.Const)
	}
	if s.Enum != nil {
		for _, v := range s.Enum.Values {
			r.measure(v)
		}
	}
	for _, limit := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			r.limits++
			r.digits = max(r.digits, ratMagnitude(limit))
		}
	}
	if s.MultipleOf != nil {
		r.limits += 8 // a division, and the reduction of what comes out
	}
}

func (r *rule) measure(v any) {
	r.choices++
	switch v := v.(type) {
	case string:
		r.choices += len(v) / 500
	case json.Number:
		r.numbers++
		r.digits = max(r.digits, magnitude(v))
	case []any:
		for _, item := range v {
			r.measure(item)
		}
	case map[string]any:
		for _, item := range v {
			r.measure(item)
		}
	}
}

// maxFan bounds how often one subschema may end up being applied to one value:
// ten levels of "allOf" with two references to the next level are a thousand.
const maxFan = 100_000

// settle ranks a rule and everything that it applies to the same value.
func (r *rule) settle(rank *int) error {
	const busy, done = 1, 2
	switch r.state {
	case done:
		return nil
	case busy:
		return tooComplex(r.where(), "it refers to itself without descending into the value")
	}
	r.state, r.fan = busy, 1
	for _, sub := range r.same() {
		if err := sub.settle(rank); err != nil {
			return err
		}
		if r.fan += sub.fan; r.fan > maxFan {
			return tooComplex(r.where(), "its subschemas multiply: they apply to one value more than %d times", maxFan)
		}
	}
	r.state = done
	*rank--
	r.rank = *rank
	return nil
}

func (r *rule) where() string {
	ptr, _ := place(r.schema.Location)
	return ptr
}

// same lists the rules that this one can apply to the same value.
func (r *rule) same() []*rule {
	all := slices.Clone(r.here)
	for _, dep := range r.when {
		all = append(all, dep.rule)
	}
	return all
}
