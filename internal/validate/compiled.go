package validate

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// valuesOf are what "enum" or "const" list.
func valuesOf(s *jsonschema.Schema) ([]any, bool) {
	switch {
	case s.Const != nil:
		return []any{*s.Const}, true
	case s.Enum != nil:
		return s.Enum.Values, true
	}
	return nil, false
}

// subschemas lists the subschemas that a schema applies to the value that it is
// applied to, and those that it applies to what is inside of that value.
func subschemas(s *jsonschema.Schema) (here, below []*jsonschema.Schema) {
	here = append(here, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		here = append(here, s.DynamicRef.Ref)
	}
	here = slices.Concat(here, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dep := range s.Dependencies {
		here = append(here, asSchema(dep))
	}
	below = append(below, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
		s.ContentSchema, asSchema(s.AdditionalProperties), asSchema(s.AdditionalItems), asSchema(s.Items))
	below = slices.Concat(below, asSchemas(s.Items), s.PrefixItems,
		slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)))
	isNil := func(s *jsonschema.Schema) bool { return s == nil }
	return slices.DeleteFunc(here, isNil), slices.DeleteFunc(below, isNil)
}

// asSchema reads the fields in which the library holds one of several types.
func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

func asSchemas(v any) []*jsonschema.Schema {
	list, _ := v.([]*jsonschema.Schema)
	return list
}
