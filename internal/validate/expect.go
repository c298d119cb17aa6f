package validate

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// An Expected describes a place in a value that is yet to be written: its types, values and
// members. It is a hint for editing: it ignores conditions ("if", "not", "dependent…"), which
// [Schema.Check] applies.
//
// The zero Expected allows everything. So does a place that the schema does not describe.
type Expected struct {
	// schemas lists schemas that all apply.
	schemas []*jsonschema.Schema
	// choices lists alternatives; one alternative of each list applies.
	choices [][]Expected
}

// maxExpected bounds the schemas of one place, over all choices. A recursive schema can have too
// many for a long path; the place then counts as not described.
const maxExpected = 5000

// Expected describes the whole value. A nil schema describes nothing.
func (s *Schema) Expected() Expected {
	if s == nil {
		return Expected{}
	}
	left := maxExpected
	return orUnknown(collectExpected([]*jsonschema.Schema{s.compiled}, &left), left)
}

// orUnknown returns e, or the zero Expected if the limit was exceeded (left is negative).
func orUnknown(e Expected, left int) Expected {
	if left < 0 {
		return Expected{}
	}
	return e
}

// collectExpected collects the schemas in todo and all schemas that apply with them. It subtracts
// their number from *budget, and stops if that becomes negative. It terminates because newBudget
// refuses schemas that refer to themselves in place.
func collectExpected(todo []*jsonschema.Schema, budget *int) Expected {
	var e Expected
	seen := map[*jsonschema.Schema]bool{nil: true}
	for len(todo) > 0 && *budget >= 0 {
		s := todo[0]
		todo = todo[1:]
		if seen[s] {
			continue
		}
		seen[s] = true
		e.schemas = append(e.schemas, s)
		*budget--
		todo = append(append(todo, s.Ref), s.AllOf...)
		for _, choice := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
			var alternatives []Expected
			for _, sub := range choice {
				alternatives = append(alternatives, collectExpected([]*jsonschema.Schema{sub}, budget))
			}
			if alternatives != nil {
				e.choices = append(e.choices, alternatives)
			}
		}
	}
	return e
}

// Types returns the allowed JSON types as words of the keyword "type", or nil if all are allowed.
func (e Expected) Types() []string {
	set := e.types()
	if set == schema.AllTypes {
		return nil
	}
	names := []string{}
	for _, name := range []string{"null", "boolean", "number", "string", "array", "object"} {
		bits := schema.TypeNamed(name)
		if set&bits == bits {
			names = append(names, name)
		} else if set&bits != 0 { // only number has several bits
			names = append(names, "integer")
		}
	}
	return names
}

// types returns the types that all schemas and one alternative of each choice allow.
func (e Expected) types() schema.Types {
	set := schema.AllTypes
	for _, s := range e.schemas {
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
		var allowed schema.Types
		for _, a := range alternatives {
			allowed |= a.types()
		}
		set &= allowed
	}
	return set
}

// Values returns the allowed strings, numbers, booleans and nulls if the schema lists them. It
// returns nil if the schema lists no values, or arrays and objects among them.
func (e Expected) Values() []json.RawMessage {
	for _, s := range e.schemas {
		if values, ok := valuesOf(s); ok {
			return scalarValues(values)
		}
	}
	for _, alternatives := range e.choices {
		if all := jointValues(alternatives); all != nil {
			return all
		}
	}
	return nil
}

// jointValues returns the values of alternatives, or nil unless each of them lists its values. The
// type null counts as the value null.
func jointValues(alternatives []Expected) []json.RawMessage {
	var all []json.RawMessage
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

// scalarValues returns decoded values as JSON, or nil if an array or an object is among them.
func scalarValues(values []any) []json.RawMessage {
	var all []json.RawMessage
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

// Names returns the names of the members that the schema declares, sorted.
func (e Expected) Names() []string {
	names := map[string]bool{}
	e.addNames(names, map[*jsonschema.Schema]bool{})
	return slices.Sorted(maps.Keys(names))
}

// addNames adds the declared names, including those in conditions.
func (e Expected) addNames(names map[string]bool, seen map[*jsonschema.Schema]bool) {
	for todo := slices.Clone(e.schemas); len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		for name := range s.Properties {
			names[name] = true
		}
		inPlace, _ := subschemas(s)
		todo = append(todo, inPlace...)
	}
	for _, alternatives := range e.choices {
		for _, a := range alternatives {
			a.addNames(names, seen)
		}
	}
}

// Closed reports whether the schema allows no other members than the declared ones.
func (e Expected) Closed() bool {
	return slices.ContainsFunc(e.schemas, func(s *jsonschema.Schema) bool { return s.AdditionalProperties == false })
}

// Member describes the member with a name, and reports whether the schema describes it.
func (s *Schema) Member(e Expected, name string) (Expected, bool) {
	return s.stepInto(e, func(object *jsonschema.Schema) (subs []*jsonschema.Schema) {
		if sub := object.Properties[name]; sub != nil {
			subs = append(subs, sub)
		}
		for re, sub := range object.PatternProperties {
			p, ok := re.(*pattern)
			mayMatch := ok && (p.re == nil || p.re.MatchString(name))
			if mayMatch {
				subs = append(subs, sub)
			}
		}
		if sub := asSchema(object.AdditionalProperties); subs == nil && sub != nil {
			subs = append(subs, sub)
		}
		return subs
	})
}

// Item describes the item of an array with an index, and reports whether the schema describes it.
func (s *Schema) Item(e Expected, index int) (Expected, bool) {
	return s.stepInto(e, func(array *jsonschema.Schema) []*jsonschema.Schema {
		prefix := slices.Concat(array.PrefixItems, asSchemas(array.Items))
		if index < len(prefix) {
			return prefix[index : index+1]
		}
		items := array.Items2020
		if items == nil {
			items = asSchema(array.Items)
		}
		if items == nil {
			items = asSchema(array.AdditionalItems)
		}
		if items != nil {
			return []*jsonschema.Schema{items}
		}
		return nil
	})
}

// HasAlternatives reports whether the place has alternatives.
func (e Expected) HasAlternatives() bool { return len(e.choices) > 0 }

// Narrowed returns e without the alternatives that exclude the members of a value, because they
// list other values for a member, such as the member "kind" of a union. If all alternatives of a
// choice are excluded, they all remain.
func (s *Schema) Narrowed(e Expected, value json.RawMessage) Expected {
	members, err := jsonraw.Object(value)
	if err != nil || !e.HasAlternatives() {
		return e
	}
	narrowed := Expected{schemas: e.schemas}
	excludes := func(a Expected) bool {
		return slices.ContainsFunc(members, func(m jsonraw.Member) bool {
			member, _ := s.Member(a, m.Name)
			values := member.Values()
			isListed := func(v json.RawMessage) bool { return jsonraw.TextOrRaw(v) == jsonraw.TextOrRaw(m.Value) }
			return values != nil && !slices.ContainsFunc(values, isListed)
		})
	}
	for _, alternatives := range e.choices {
		remaining := slices.DeleteFunc(slices.Clone(alternatives), excludes)
		if len(remaining) == 0 {
			remaining = alternatives
		}
		narrowed.choices = append(narrowed.choices, remaining)
	}
	return narrowed
}

// stepInto describes a member or item: into returns its schemas in one schema of e.
func (s *Schema) stepInto(e Expected, into func(*jsonschema.Schema) []*jsonschema.Schema) (Expected, bool) {
	if s == nil {
		return Expected{}, false
	}
	left := maxExpected
	in, found := descend(e, into, &left)
	return orUnknown(in, left), found
}

// descend does the work of stepInto: it calls subschemasOf for each schema of e and its alternatives. It
// subtracts the number of schemas that it collects from *budget, and stops if that becomes negative.
func descend(
	e Expected,
	subschemasOf func(*jsonschema.Schema) []*jsonschema.Schema,
	budget *int,
) (child Expected, isDescribed bool) {
	var subs []*jsonschema.Schema
	for _, s := range e.schemas {
		subs = append(subs, subschemasOf(s)...)
	}
	child = collectExpected(subs, budget)
	isDescribed = subs != nil
	for _, alternatives := range e.choices {
		var described []Expected
		for _, a := range alternatives {
			if sub, ok := descend(a, subschemasOf, budget); ok {
				described = append(described, sub)
			}
		}
		if described != nil {
			child.choices = append(child.choices, described)
			isDescribed = true
		}
	}
	return child, isDescribed
}
