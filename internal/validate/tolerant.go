package validate

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// CompileTolerant is Compile that also takes a schema which is not valid but whose meaning is plain: one with keywords
// as draft-03 and draft-04 have them ("exclusiveMinimum": true beside a minimum, "required": true in a property), with
// types as programming languages name them ("bool", "int", "STRING"), or with null for a keyword that is absent. The
// first warning says that the schema is not valid.
func CompileTolerant(raw []byte) (*Schema, []wire.Finding, error) {
	s, warnings, err := Compile(raw)
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Reason != NotASchema {
		return s, warnings, err
	}
	doc, bad := readSchema(raw)
	if bad != nil {
		return nil, nil, err
	}
	spoken, bad := dialectOf(doc)
	if bad != nil {
		return nil, nil, err
	}
	(&compatRewriter{numericBounds: spoken.name != "draft-04"}).rewrite(doc)
	s, warnings, bad = compile(doc, spoken)
	if bad != nil {
		return nil, nil, err
	}
	invalid := wire.Finding{Rule: "schema", Level: wire.Warning, Where: failed.Where,
		Text: failed.Text + "; read as it was probably meant"}
	return s, append([]wire.Finding{invalid}, warnings...), nil
}

// plainForms rewrites keywords that are not valid and whose meaning is plain.
type compatRewriter struct {
	// numericBounds is set if the dialect has exclusiveMinimum and exclusiveMaximum as numbers.
	numericBounds bool
}

// rewrite changes a decoded schema and its subschemas.
func (f *compatRewriter) rewrite(doc any) {
	members, ok := doc.(map[string]any)
	if !ok {
		return
	}
	for name, value := range members {
		if value == nil && name != "default" && name != "const" {
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

// otherTypes are the types of JSON Schema by the names that programming languages and model interfaces have for them.
var otherTypes = map[string]string{
	"bool": "boolean", "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
	"float": "number", "double": "number", "decimal": "number", "str": "string", "dict": "object", "map": "object",
	"list": "array", "tuple": "array", "none": "null", "nil": "null", "nonetype": "null",
	"boolean": "boolean", "integer": "integer", "number": "number", "string": "string", "object": "object",
	"array": "array", "null": "null",
}

// renameTypes renames the types of a schema that have another name, or capitals, and removes the type "any".
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

// renamedType returns the type that a name means, or the name if it means none.
func renamedType(name string) string {
	return cmp.Or(otherTypes[strings.ToLower(name)], name)
}

// mergeBound rewrites a boolean exclusive bound of draft-04 as the number that it makes exclusive.
func mergeBound(members map[string]any, exclusive, bound string) {
	isExclusive, ok := members[exclusive].(bool)
	if !ok {
		return
	}
	delete(members, exclusive)
	if limit, there := members[bound]; isExclusive && there {
		members[exclusive] = limit
		delete(members, bound)
	}
}

// gatherRequired moves "required": true of properties, as in draft-03, to the list of their object.
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
		_, there := members["required"]
		if isRequired && (isList || !there) && !slices.Contains(list, any(name)) {
			members["required"] = append(list, name)
		}
	}
}

// maxLeftOut bounds the parts that Readable leaves out.
const maxLeftOut = 50

// Readable compiles what can be read of a schema that does not compile, so that Expected tells the types of its other
// parts: it leaves out each part that has a fault. It returns nil if too little remains. The schema that it returns
// must not check values, since a part that is left out may have been under "not".
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

// leaveOut removes the innermost member of an object that a JSON pointer leads through. A subschema with a name becomes
// {} at first, which keeps the name known. It reports whether there was anything to remove.
func removePart(doc any, pointer string) bool {
	path := pointerTokens(pointer)
	for n := len(path) - 1; n >= 0; n-- {
		parent, _ := lookup(doc, path[:n])
		members, _ := parent.(map[string]any)
		value, there := members[path[n]]
		if !there {
			continue
		}
		inner, isObject := value.(map[string]any)
		isNamed := n > 0 && slices.Contains(schema.HoldMap, path[n-1])
		if isNamed && !(isObject && len(inner) == 0) {
			members[path[n]] = map[string]any{}
		} else {
			delete(members, path[n])
		}
		return true
	}
	return false
}
