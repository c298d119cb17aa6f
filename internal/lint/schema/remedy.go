package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/suggest"
)

// types are the types of JSON Schema, in all its drafts.
var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// typesMeant are the types of JSON Schema for the words that programming languages have.
var typesMeant = map[string]string{
	"bool": "boolean", "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string",
	"uuid": "string", "url": "string", "uri": "string", "file": "string", "bytes": "string", "enum": "string",
	"int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "uint": "integer", "bigint": "integer",
	"float": "number", "float32": "number", "float64": "number", "double": "number", "decimal": "number",
	"dict": "object", "map": "object", "json": "object", "record": "object", "struct": "object",
	"list": "array", "tuple": "array", "set": "array", "none": "null", "nil": "null", "undefined": "null", "void": "null",
}

// numeric are the keywords that are numbers.
var numeric = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
	"minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}

// IsType reports a type of JSON Schema.
func IsType(word string) bool { return slices.Contains(types, word) }

// Remedy returns what to write for the value at a JSON pointer of a schema that is not valid there; "" if that is
// unknown.
func Remedy(schema json.RawMessage, at string) string {
	cut := strings.LastIndex(at, "/")
	value, ok := jsonraw.At(schema, at)
	if cut < 0 || !ok {
		return ""
	}
	keyword := at[cut+1:]
	around, _ := jsonraw.At(schema, at[:cut])
	inMap := slices.Contains(maps, lastName(at[:cut]))
	text, isText := jsonraw.Text(value)
	switch {
	case string(value) == "null" && inMap:
		return "{} for any value, or no member " + keyword
	case inMap:
		return ""
	case keyword == "type" && isText:
		return typeFor(text)
	case keyword == "required" && isText:
		return `"required":[` + string(jsonraw.Quote(text)) + "]"
	case keyword == "required" && IsBoolean(value):
		return `"required", an array of names, beside the "properties" that has this one`
	case (keyword == "exclusiveMinimum" || keyword == "exclusiveMaximum") && IsBoolean(value):
		plain := strings.ToLower(strings.TrimPrefix(keyword, "exclusive"))
		limit := jsonraw.First(around, plain)
		switch {
		case string(value) == "false":
			return "no " + keyword
		case jsonraw.IsNumber(limit):
			return `"` + keyword + `":` + string(limit) + " instead of " + plain
		}
	case slices.Contains(numeric, keyword) && isText:
		if _, err := strconv.ParseFloat(text, 64); err == nil && jsonraw.IsNumber(json.RawMessage(text)) {
			return `"` + keyword + `":` + text
		}
	case keyword == "enum" && !isArray(value):
		return `"enum":[` + jsonraw.Excerpt(value, 60) + "]"
	case keyword == "items" && isArray(value):
		return `"prefixItems" instead of items`
	case string(value) == "null":
		return "no " + keyword
	}
	return ""
}

// typeFor returns what to write for a word that is no type.
func typeFor(word string) string {
	plain := strings.ToLower(word)
	if plain == "any" || plain == "unknown" || plain == "mixed" || plain == "*" || plain == "" {
		return "no type: then any value is allowed"
	}
	meant := typesMeant[plain]
	if meant == "" {
		meant = suggest.Nearest(plain, types)
	}
	if meant == "" {
		return ""
	}
	return `"type":"` + meant + `"`
}

func isArray(raw json.RawMessage) bool {
	_, err := jsonraw.Array(raw)
	return err == nil
}

// IsBoolean reports true and false.
func IsBoolean(raw json.RawMessage) bool { return string(raw) == "true" || string(raw) == "false" }

// lastName returns the last name of a JSON pointer.
func lastName(at string) string { return at[strings.LastIndex(at, "/")+1:] }
