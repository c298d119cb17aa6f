package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/suggest"
)

// typeByWord maps words for types in programming languages to the types of JSON Schema.
var typeByWord = map[string]string{
	"bool": "boolean", "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string",
	"uuid": "string", "url": "string", "uri": "string", "file": "string", "bytes": "string", "enum": "string",
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer", "bigint": "integer",
	"float": "number", "float32": "number", "float64": "number", "double": "number", "decimal": "number",
	"dict": "object", "map": "object", "json": "object", "record": "object", "struct": "object",
	"list": "array", "tuple": "array", "set": "array", "none": "null", "nil": "null", "undefined": "null", "void": "null",
}

// numericKeywords are the keywords whose value is a number.
var numericKeywords = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
}

// suggestFix returns what to write for the invalid value at a JSON pointer of a schema, "" if that
// is unknown.
func suggestFix(root json.RawMessage, at string) string {
	cut := strings.LastIndex(at, "/")
	value, ok := jsonraw.At(root, at)
	if cut < 0 || !ok {
		return ""
	}
	keyword := at[cut+1:]
	parent, _ := jsonraw.At(root, at[:cut])
	isNameInMap := slices.Contains(schema.HoldMap, at[strings.LastIndex(at[:cut], "/")+1:cut])
	if isNameInMap { // such as a name below properties
		if string(value) == "null" {
			return "{} for any value, or no member " + keyword
		}
		return ""
	}
	text, isText := jsonraw.Text(value)
	switch {
	case keyword == "type" && isText:
		return suggestType(text)
	case keyword == "required" && isText:
		return `"required":[` + string(jsonraw.Quote(text)) + "]"
	case keyword == "required" && schema.TypeOf(value) == schema.Boolean: // as in draft 3
		return `"required", an array of names, next to the "properties" with this one`
	case (keyword == "exclusiveMinimum" || keyword == "exclusiveMaximum") && schema.TypeOf(value) == schema.Boolean:
		// In draft 4 it is a flag beside minimum or maximum.
		plain := strings.ToLower(strings.TrimPrefix(keyword, "exclusive"))
		limit := jsonraw.First(parent, plain)
		if string(value) == "false" {
			return "no " + keyword
		}
		if jsonraw.IsNumber(limit) {
			return `"` + keyword + `":` + string(limit) + " instead of " + plain
		}
	case slices.Contains(numericKeywords, keyword) && isText:
		if _, err := strconv.ParseFloat(text, 64); err == nil && jsonraw.IsNumber(json.RawMessage(text)) {
			return `"` + keyword + `":` + text
		}
	case keyword == "enum" && schema.TypeOf(value) != schema.Array:
		return `"enum":[` + jsonraw.Excerpt(value, 60) + "]"
	case keyword == "items" && schema.TypeOf(value) == schema.Array:
		return `"prefixItems" instead of items`
	case string(value) == "null":
		return "no " + keyword
	}
	return ""
}

// suggestType returns what to write for a word that is no type of JSON Schema, "" if that is
// unknown.
func suggestType(word string) string {
	plain := strings.ToLower(word)
	if plain == "any" || plain == "unknown" || plain == "mixed" || plain == "*" || plain == "" {
		return "no type: then any value is allowed"
	}
	name := typeByWord[plain]
	if name == "" {
		name = suggest.Nearest(plain, append(schema.AllTypes.Names(), "integer"))
	}
	if name == "" {
		return ""
	}
	return `"type":"` + name + `"`
}
