package validate

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// tooDeep says whether JSON is nested deeper than wire.MaxDepth. It is asked before
// anything recursive touches the bytes.
func tooDeep(b []byte) bool {
	bad := jsonraw.Valid(b)
	return bad != nil && bad.Rule == "depth"
}

// member is what an object holds under a name, or nil.
func member(v any, name string) any {
	obj, _ := v.(map[string]any)
	return obj[name]
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// tokens reads a JSON pointer.
func tokens(ptr string) []string {
	if ptr == "" {
		return nil
	}
	toks := strings.Split(ptr[1:], "/")
	for i, tok := range toks {
		toks[i] = pointerUnescaper.Replace(tok)
	}
	return toks
}

// lookup follows tokens into a value.
func lookup(v any, toks []string) (any, bool) {
	for _, tok := range toks {
		var ok bool
		if v, ok = step(v, tok); !ok {
			return nil, false
		}
	}
	return v, true
}

func step(v any, tok string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		sub, ok := v[tok]
		return sub, ok
	case []any:
		if i, err := strconv.Atoi(tok); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// parts are the items of an array, or the values of an object.
func parts(v any) iter.Seq[any] {
	return func(yield func(any) bool) {
		switch v := v.(type) {
		case []any:
			slices.Values(v)(yield)
		case map[string]any:
			maps.Values(v)(yield)
		}
	}
}

// typeName is the JSON type of a decoded value.
func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}
