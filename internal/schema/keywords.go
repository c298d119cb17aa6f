package schema

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"mcpc/internal/jsonraw"
)

// The keywords of all dialects whose values contain subschemas: HoldOne a single schema, HoldList a
// list of schemas, HoldMap an object of schemas by name.
var (
	HoldOne = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	HoldList = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	HoldMap  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// Subschemas iterates over the direct subschemas of a decoded schema and their JSON pointers
// relative to it. The order is the same each time.
func Subschemas(members map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, keyword := range HoldOne {
			value, ok := members[keyword]
			if _, isList := value.([]any); ok && !isList && !yield("/"+keyword, value) {
				return
			}
		}
		for _, keyword := range HoldList {
			list, _ := members[keyword].([]any)
			for i, sub := range list {
				if !yield("/"+keyword+"/"+strconv.Itoa(i), sub) {
					return
				}
			}
		}
		for _, keyword := range HoldMap {
			named, _ := members[keyword].(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if !yield("/"+keyword+jsonraw.Pointer("", name), named[name]) {
					return
				}
			}
		}
	}
}
