package schema

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
)

// types is a set of JSON types. A number is a whole one or a fraction, so that "integer" is a
// part of "number".
type types uint8

const (
	null types = 1 << iota
	boolean
	object
	array
	text
	whole
	fraction

	numeric  = whole | fraction
	anything = null | boolean | object | array | numeric | text
)

// typeNames are the words of the keyword type, in the order in which they are shown.
var typeNames = []struct {
	name string
	is   types
}{
	{"object", object}, {"array", array}, {"string", text}, {"number", numeric}, {"integer", whole}, {"boolean", boolean}, {"null", null},
}

// parseTypes reads the keyword type; false where it names no type that there is.
func parseTypes(raw json.RawMessage) (all types, ok bool) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		items = []json.RawMessage{raw}
	}
	for _, item := range items {
		word, _ := jsonraw.Text(item)
		is := types(0)
		for _, t := range typeNames {
			if t.name == word {
				is = t.is
			}
		}
		if is == 0 {
			return anything, false
		}
		all |= is
	}
	return all, true
}

// raw is the set as the keyword type has it; nil where it is all types.
func (t types) raw() json.RawMessage {
	if t == anything {
		return nil
	}
	var names []json.RawMessage
	for rest, i := t, 0; rest != 0 && i < len(typeNames); i++ {
		if n := typeNames[i]; rest&n.is == n.is {
			names, rest = append(names, jsonraw.Quote(n.name)), rest&^n.is
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return jsonraw.List(names)
}

// typeOf is the type of one value.
func typeOf(raw json.RawMessage) types {
	switch {
	case len(raw) == 0:
		return 0
	case jsonraw.IsNumber(raw):
		if n, ok := parseNumber(string(raw)); ok && n.magnitude >= int64(len(n.digits)) {
			return whole
		}
		return fraction
	}
	return map[byte]types{'{': object, '[': array, '"': text, 't': boolean, 'f': boolean, 'n': null}[raw[0]]
}
