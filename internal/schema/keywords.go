package schema

// The keywords whose values hold subschemas, of all dialects together: HoldOne a schema, HoldList a list of schemas,
// HoldMap an object of schemas by name.
var (
	HoldOne = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	HoldList = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	HoldMap  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
