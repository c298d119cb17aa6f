package validate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// takeOver replaces two keywords by extensions, which is what the library calls
// additional code for a keyword, and takes note of what they apply.
//
// propertyNames, because the library reports it at a location that it goes on
// to overwrite: the error comes out at a sibling. uniqueItems, because it finds
// candidates by a hash that [[],[]] and [[[]]] share, and so many other lists
// that a hostile value of 200 kB keeps it busy for minutes.
//
// What the two cost is a part of the bound.
func (r *rule) takeOver(of map[*jsonschema.Schema]*rule) {
	s := r.schema
	if s.PropertyNames != nil {
		r.names = of[s.PropertyNames]
		s.Extensions = append(s.Extensions, nameCheck{s.PropertyNames})
		s.PropertyNames = nil
	}
	if s.UniqueItems {
		r.unique = true
		s.Extensions = append(s.Extensions, uniqueCheck{})
		s.UniqueItems = false
	}
}

type nameCheck struct{ names *jsonschema.Schema }

func (c nameCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	obj, _ := v.(map[string]any)
	for name := range obj {
		err := ctx.Validate(c.names, name, []string{name})
		if verr, ok := err.(*jsonschema.ValidationError); ok {
			ctx.AddErrors([]*jsonschema.ValidationError{verr}, &kind.PropertyNames{Property: name})
		}
	}
}

type uniqueCheck struct{}

func (uniqueCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	items, _ := v.([]any)
	first := make(map[string]int, len(items))
	for i, item := range items {
		var key strings.Builder
		writeKey(&key, item)
		if j, ok := first[key.String()]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{j, i}})
			return
		}
		first[key.String()] = i
	}
}

// writeKey spells a value so that two values are spelled alike if and only if
// JSON Schema calls them equal.
func writeKey(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		sb.WriteByte('[')
		for _, item := range v {
			writeKey(sb, item)
		}
		sb.WriteByte(']')
	case map[string]any:
		sb.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeKey(sb, name)
			writeKey(sb, v[name])
		}
		sb.WriteByte('}')
	case string:
		sb.WriteString(strconv.Itoa(len(v)))
		sb.WriteByte(':')
		sb.WriteString(v)
	case json.Number:
		sb.WriteString(canonical(v))
		sb.WriteByte(';')
	case bool:
		sb.WriteString(strconv.FormatBool(v))
	default:
		sb.WriteString("null")
	}
}
