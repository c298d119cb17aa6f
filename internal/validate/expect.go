package validate

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// An Expected is what a schema says about one place in a value that is yet to be
// written: which types may stand there, which values, which members. It is a help
// and no judgement: conditions ("if", "not", "dependent…") are left to
// [Schema.Check].
//
// The zero Expected, and that of a place that the schema does not speak of, says
// nothing.
type Expected struct {
	// every one of these schemas holds, and of each choice one alternative.
	every   []*jsonschema.Schema
	choices [][]Expected
}

// maxExpected bounds the schemas that may hold in one place, in all choices. A schema
// that refers to itself can make too many of a long path; of such a place nothing
// is known.
const maxExpected = 5000

// Expected is what the schema says about the whole value. A nil schema says
// nothing.
func (s *Schema) Expected() Expected {
	if s == nil {
		return Expected{}
	}
	left := maxExpected
	return orUnknown(collectExpected([]*jsonschema.Schema{s.compiled}, &left), left)
}

// known is e, unless more was found than may be.
func orUnknown(e Expected, left int) Expected {
	if left < 0 {
		return Expected{}
	}
	return e
}

// expect gathers what holds together with some schemas, and counts them off from what
// is left. None comes back to itself without going into the value: newBudget refuses that.
func collectExpected(todo []*jsonschema.Schema, left *int) (e Expected) {
	seen := map[*jsonschema.Schema]bool{nil: true}
	for len(todo) > 0 && *left >= 0 {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		e.every = append(e.every, s)
		*left--
		todo = append(append(todo, s.Ref), s.AllOf...)
		for _, several := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			var alternatives []Expected
			for _, sub := range several {
				alternatives = append(alternatives, collectExpected([]*jsonschema.Schema{sub}, left))
			}
			if alternatives != nil {
				e.choices = append(e.choices, alternatives)
			}
		}
	}
	return e
}

// Types names the JSON types that may stand here, as "type" does; nil means that
// any may.
func (e Expected) Types() []string {
	set := e.types()
	if set == schema.AllTypes {
		return nil
	}
	names := []string{}
	for _, name := range []string{"null", "boolean", "number", "string", "array", "object"} {
		one := schema.TypeNamed(name)
		if set&one == one {
			names = append(names, name)
		} else if set&one != 0 {
			names = append(names, "integer")
		}
	}
	return names
}

// types returns the types that all schemas and one alternative of each choice allow.
func (e Expected) types() schema.Types {
	set := schema.AllTypes
	for _, s := range e.every {
		if s.Types != nil && !s.Types.IsEmpty() {
			var declared schema.Types
			for _, name := range s.Types.ToStrings() {
				declared |= schema.TypeNamed(name)
			}
			set &= declared
		}
		if values, ok := valuesOf(s); ok {
			var listed schema.Types
			for _, v := range values {
				listed |= schema.TypeNamed(typeName(v))
			}
			set &= listed
		}
	}
	for _, alternatives := range e.choices {
		var any schema.Types
		for _, a := range alternatives {
			any |= a.types()
		}
		set &= any
	}
	return set
}

// Values are the texts, numbers and other small things of which one has to stand
// here; nil where the schema lists none, or lists arrays and objects.
func (e Expected) Values() []json.RawMessage {
	for _, s := range e.every {
		if values, ok := valuesOf(s); ok {
			return scalars(values)
		}
	}
	for _, alternatives := range e.choices {
		if all := jointValues(alternatives); all != nil {
			return all
		}
	}
	return nil
}

// together are the values of alternatives that all list theirs. One that is null
// and nothing else lists null.
func jointValues(alternatives []Expected) (all []json.RawMessage) {
	for _, a := range alternatives {
		values := a.Values()
		if a.types() == schema.Null {
			values = []json.RawMessage{json.RawMessage("null")}
		}
		if values == nil {
			return nil
		}
		all = append(all, values...)
	}
	return all
}

func scalars(values []any) (all []json.RawMessage) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			all = append(all, jsonraw.Quote(v))
		case json.Number:
			all = append(all, json.RawMessage(v))
		case bool, nil:
			all = append(all, json.RawMessage(brief(v)))
		default:
			return nil
		}
	}
	return all
}

// Names are the members that the schema lists, in order.
func (e Expected) Names() []string {
	names := map[string]bool{}
	e.addNames(names, map[*jsonschema.Schema]bool{})
	return slices.Sorted(maps.Keys(names))
}

// addNames looks into conditions too: what they list is no slip.
func (e Expected) addNames(names map[string]bool, seen map[*jsonschema.Schema]bool) {
	for todo := slices.Clone(e.every); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		for name := range s.Properties {
			names[name] = true
		}
		here, _ := subschemas(s)
		todo = append(todo, here...)
	}
	for _, alternatives := range e.choices {
		for _, a := range alternatives {
			a.addNames(names, seen)
		}
	}
}

// Closed reports that no other members than those of the schema may stand here.
func (e Expected) Closed() bool {
	return slices.ContainsFunc(e.every, func(s *jsonschema.Schema) bool { return s.AdditionalProperties == false })
}

// Member is what may stand under a name, and whether the schema speaks of it at
// all.
func (s *Schema) Member(e Expected, name string) (Expected, bool) {
	return s.stepInto(e, func(in *jsonschema.Schema) (subs []*jsonschema.Schema) {
		if sub := in.Properties[name]; sub != nil {
			subs = append(subs, sub)
		}
		for re, sub := range in.PatternProperties {
			if p, ok := re.(*pattern); ok && (p.re == nil || p.re.MatchString(name)) {
				subs = append(subs, sub)
			}
		}
		if sub := asSchema(in.AdditionalProperties); subs == nil && sub != nil {
			subs = append(subs, sub)
		}
		return subs
	})
}

// Item is what may stand in a list, in the place n from 0 on.
func (s *Schema) Item(e Expected, n int) (Expected, bool) {
	return s.stepInto(e, func(in *jsonschema.Schema) []*jsonschema.Schema {
		if prefix := slices.Concat(in.PrefixItems, asSchemas(in.Items)); n < len(prefix) {
			return prefix[n : n+1]
		}
		if items := cmp.Or(in.Items2020, asSchema(in.Items), asSchema(in.AdditionalItems)); items != nil {
			return []*jsonschema.Schema{items}
		}
		return nil
	})
}

// HasAlternatives reports whether several alternatives may stand here.
func (e Expected) HasAlternatives() bool { return len(e.choices) > 0 }

// Narrowed returns e without the alternatives that the members of a value exclude, because one of them lists other
// values for a member, as those of a union do that a member such as "kind" tells apart. If a value excludes all
// alternatives, they all stay.
func (s *Schema) Narrowed(e Expected, value json.RawMessage) Expected {
	members, err := jsonraw.Object(value)
	if err != nil || !e.HasAlternatives() {
		return e
	}
	narrowed := Expected{every: e.every}
	excludes := func(a Expected) bool {
		return slices.ContainsFunc(members, func(m jsonraw.Member) bool {
			place, _ := s.Member(a, m.Name)
			values := place.Values()
			isListed := func(v json.RawMessage) bool { return jsonraw.TextOrRaw(v) == jsonraw.TextOrRaw(m.Value) }
			return values != nil && !slices.ContainsFunc(values, isListed)
		})
	}
	for _, alternatives := range e.choices {
		left := slices.DeleteFunc(slices.Clone(alternatives), excludes)
		if len(left) == 0 {
			left = alternatives
		}
		narrowed.choices = append(narrowed.choices, left)
	}
	return narrowed
}

// step goes one step into the value, with all that holds here.
func (s *Schema) stepInto(e Expected, into func(*jsonschema.Schema) []*jsonschema.Schema) (Expected, bool) {
	if s == nil {
		return Expected{}, false
	}
	left := maxExpected
	in, found := descend(e, into, &left)
	return orUnknown(in, left), found
}

func descend(e Expected, into func(*jsonschema.Schema) []*jsonschema.Schema, left *int) (in Expected, found bool) {
	var subs []*jsonschema.Schema
	for _, s := range e.every {
		subs = append(subs, into(s)...)
	}
	in = collectExpected(subs, left)
	found = subs != nil
	for _, alternatives := range e.choices {
		var on []Expected
		for _, a := range alternatives {
			if next, ok := descend(a, into, left); ok {
				on = append(on, next)
			}
		}
		if on != nil {
			in.choices = append(in.choices, on)
			found = true
		}
	}
	return in, found
}
