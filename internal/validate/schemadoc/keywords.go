package schemadoc

// The keywords that hold subschemas, of all dialects together.
var (
	SchemaKeywords = []string{
		"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
	}
	SchemaListKeywords = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	SchemaMapKeywords  = []string{
		"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
	}
	RefKeywords = []string{"$dynamicRef", "$recursiveRef", "$ref"}
)
