package validate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// CompileTolerant compiles a schema like Compile, but also accepts some invalid schemas with an
// obvious meaning: keywords in the form of draft-03 and draft-04 ("exclusiveMinimum": true beside a
// minimum, "required": true in a property), types with names from programming languages ("bool",
// "int", "STRING"), and null for an absent keyword. The first warning then reports that the schema
// is invalid.
func CompileTolerant(raw []byte) (*Schema, []wire.Finding, error) {
	s, warnings, err := Compile(raw)
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Reason != NotASchema {
		return s, warnings, err
	}
	// From here on, a second error is not reported: err says more about the schema as it was sent.
	doc, readErr := readSchema(raw)
	if readErr != nil {
		return nil, nil, err
	}
	spoken, dialectErr := dialectOf(doc)
	if dialectErr != nil {
		return nil, nil, err
	}
	(&compatRewriter{numericBounds: spoken.name != "draft-04"}).rewrite(doc)
	s, warnings, compileErr := compile(doc, spoken)
	if compileErr != nil {
		return nil, nil, err
	}
	invalid := wire.Finding{
		Rule: "schema", Severity: wire.Warning, Pointer: failed.Where,
		Text: failed.Text + "; read as it was probably meant",
	}
	return s, append([]wire.Finding{invalid}, warnings...), nil
}

// A compatRewriter rewrites invalid keywords with an obvious meaning.
type compatRewriter struct {
	// numericBounds is set if exclusiveMinimum and exclusiveMaximum are numbers in the dialect.
	numericBounds bool
}

// rewrite changes a decoded schema and its subschemas.
func (f *compatRewriter) rewrite(doc any) {
	members, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for name, value := range members {
		isValue := name == "default" || name == "const" // null is a value there
		if value == nil && !isValue {
			delete(members, name)
		}
	}
	renameTypes(members)
	if f.numericBounds {
		mergeBound(members, "exclusiveMinimum", "minimum")
		mergeBound(members, "exclusiveMaximum", "maximum")
	}
	for _, keyword := range schema.HoldMap {
		named, _ := members[keyword].(map[string]any)
		for name, sub := range named {
			if sub == nil {
				named[name] = map[string]any{}
			}
		}
	}
	gatherRequired(members)
	for _, sub := range schema.Subschemas(members) {
		f.rewrite(sub)
	}
}

// otherTypes maps type names of programming languages and model APIs to JSON Schema's.
var otherTypes = map[string]string{
	"bool": "boolean", "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
	"float": "number", "double": "number", "decimal": "number", "str": "string", "dict": "object", "map": "object",
	"list": "array", "tuple": "array", "none": "null", "nil": "null", "nonetype": "null",
	"boolean": "boolean", "integer": "integer", "number": "number", "string": "string", "object": "object",
	"array": "array", "null": "null",
}

// renameTypes corrects the type names of a schema and removes the type "any".
func renameTypes(members map[string]any) {
	switch value := members["type"].(type) {
	case string:
		if strings.EqualFold(value, "any") {
			delete(members, "type")
		} else {
			members["type"] = renamedType(value)
		}
	case []any:
		for i, item := range value {
			if item == nil {
				value[i] = "null"
			} else if name, ok := item.(string); ok {
				value[i] = renamedType(name)
			}
		}
	}
}

// renamedType returns JSON Schema's name of a type, or an unknown name unchanged.
func renamedType(name string) string {
	if standard := otherTypes[strings.ToLower(name)]; standard != "" {
		return standard
	}
	return name
}

// mergeBound replaces a boolean exclusive limit of draft-04 by the number that it applies to.
func mergeBound(members map[string]any, exclusive, bound string) {
	isExclusive, ok := members[exclusive].(bool)
	if !ok {
		return
	}
	delete(members, exclusive)
	if limit, exists := members[bound]; isExclusive && exists {
		members[exclusive] = limit
		delete(members, bound)
	}
}

// gatherRequired moves "required": true of properties (draft-03) to the list of their object.
func gatherRequired(members map[string]any) {
	properties, _ := members["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		isRequired, ok := property["required"].(bool)
		if !ok {
			continue
		}
		delete(property, "required")
		list, isList := members["required"].([]any)
		_, exists := members["required"]
		canAppend := isList || !exists
		if isRequired && canAppend && !slices.Contains(list, any(name)) {
			members["required"] = append(list, name)
		}
	}
}

// maxLeftOut bounds the parts that Readable removes.
const maxLeftOut = 50

// Readable compiles a schema that Compile rejects, without its invalid parts, so that Expected can
// describe the other parts. It returns nil if too little remains. The result must not check values:
// an invalid part may have been under "not".
func Readable(raw []byte) *Schema {
	doc, err := readSchema(raw)
	if err != nil {
		return nil
	}
	spoken, err := dialectOf(doc)
	if err != nil {
		removePart(doc, "/$schema")
		spoken = dialects[0]
	}
	(&compatRewriter{numericBounds: spoken.name != "draft-04"}).rewrite(doc)
	for range maxLeftOut {
		s, _, err := compile(doc, spoken)
		if err == nil {
			return s
		}
		failed, ok := errors.AsType[*Error](err)
		if !ok || !failed.IsOfPart() || !removePart(doc, failed.Where) {
			return nil
		}
	}
	return nil
}

// removePart removes the innermost object member on the path of a JSON pointer, and reports whether
// it removed anything. It first replaces a named subschema by {}, which keeps the name known.
func removePart(doc any, pointer string) bool {
	path := pointerTokens(pointer)
	for n := len(path) - 1; n >= 0; n-- {
		parent, _ := lookup(doc, path[:n])
		members, _ := parent.(map[string]any)
		value, exists := members[path[n]]
		if !exists {
			continue
		}
		inner, isObject := value.(map[string]any)
		isNamed := n > 0 && slices.Contains(schema.HoldMap, path[n-1])
		isEmptyObject := isObject && len(inner) == 0
		if isNamed && !isEmptyObject {
			members[path[n]] = map[string]any{}
		} else {
			delete(members, path[n])
		}
		return true
	}
	return false
}
