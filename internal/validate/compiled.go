package validate

import (
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// valuesOf returns the values of "const" or "enum". It returns false if the schema has neither.
func valuesOf(s *jsonschema.Schema) ([]any, bool) {
	if s.Const != nil {
		return []any{*s.Const}, true
	}
	if s.Enum != nil {
		return s.Enum.Values, true
	}
	return nil, false
}

// subschemas returns a schema's subschemas: those it applies in place, to its own value, and those
// it applies to children of that value.
func subschemas(s *jsonschema.Schema) (inPlace, children []*jsonschema.Schema) {
	inPlace = append(inPlace, s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else)
	if s.DynamicRef != nil {
		inPlace = append(inPlace, s.DynamicRef.Ref)
	}
	inPlace = slices.Concat(inPlace, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	for _, dep := range s.Dependencies {
		inPlace = append(inPlace, asSchema(dep))
	}
	children = append(children, s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems,
		s.ContentSchema, asSchema(s.AdditionalProperties), asSchema(s.AdditionalItems), asSchema(s.Items))
	children = slices.Concat(children, asSchemas(s.Items), s.PrefixItems,
		slices.Collect(maps.Values(s.Properties)), slices.Collect(maps.Values(s.PatternProperties)))
	isNil := func(s *jsonschema.Schema) bool { return s == nil }
	return slices.DeleteFunc(inPlace, isNil), slices.DeleteFunc(children, isNil)
}

// asSchema returns a field of the library that may have several types, as a schema or nil.
func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}

func asSchemas(v any) []*jsonschema.Schema {
	list, _ := v.([]*jsonschema.Schema)
	return list
}
