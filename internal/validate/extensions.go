package validate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/jsonraw"
)

// extend replaces two keywords by extensions, which is what the library calls
// additional code for a keyword, and takes note of what they apply.
//
// propertyNames, because the library reports it at a location that it goes on
// to overwrite: the error comes out at a sibling. uniqueItems, because it finds
// candidates by a hash that [[],[]] and [[[]]] share, and so many other lists
// that a hostile value of 200 kB keeps it busy for minutes.
//
// The two pay for what they do.
func (n *node) extend(b *budget) {
	s := n.schema
	if s.PropertyNames != nil {
		n.names = s.PropertyNames
		s.Extensions = append(s.Extensions, nameCheck{s.PropertyNames})
		s.PropertyNames = nil
	}
	if s.UniqueItems {
		b.numbers = true
		s.Extensions = append(s.Extensions, uniqueCheck{b})
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

type uniqueCheck struct{ budget *budget }

func (c uniqueCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	items, _ := v.([]any)
	c.pay(items)
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

func (c uniqueCheck) pay(v any) {
	c.budget.pay(1, 4)
	switch v := v.(type) {
	case string:
		c.budget.pay(1, len(v)/20)
	case json.Number:
		c.budget.pay(4, numberWork(magnitude(v)))
	case []any:
		for _, item := range v {
			c.pay(item)
		}
	case map[string]any:
		for name, item := range v {
			c.budget.pay(1, 6+len(name)/20)
			c.pay(item)
		}
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
		sb.WriteString(jsonraw.PlainNumber(string(v)))
		sb.WriteByte(';')
	case bool:
		sb.WriteString(strconv.FormatBool(v))
	default:
		sb.WriteString("null")
	}
}
