package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Types is a set of JSON types. A number is either whole or a fraction, so "integer" is a subset of
// "number".
type Types uint8

// The types.
const (
	Null Types = 1 << iota
	Boolean
	Object
	Array
	String
	Whole
	Fraction

	Number   = Whole | Fraction
	AllTypes = Null | Boolean | Object | Array | Number | String
)

// typeNames are the words of the keyword "type", in display order.
var typeNames = []struct {
	name string
	set  Types
}{
	{"object", Object},
	{"array", Array},
	{"string", String},
	{"number", Number},
	{"integer", Whole},
	{"boolean", Boolean},
	{"null", Null},
}

// TypeNamed returns the types that a word of the keyword "type" allows, or 0 if the word is
// unknown.
func TypeNamed(word string) Types {
	for _, t := range typeNames {
		if t.name == word {
			return t.set
		}
	}
	return 0
}

// ParseTypes reads the keyword "type". It returns AllTypes and false if a word is unknown.
func ParseTypes(raw json.RawMessage) (all Types, ok bool) {
	items, err := jsonraw.Array(raw)
	if err != nil {
		items = []json.RawMessage{raw}
	}
	for _, item := range items {
		word, _ := jsonraw.Text(item)
		types := TypeNamed(word)
		if types == 0 {
			return AllTypes, false
		}
		all |= types
	}
	return all, true
}

// Names returns the words for a set: "number" for all numbers, "integer" for whole numbers only.
func (t Types) Names() []string {
	var names []string
	for _, n := range typeNames {
		if t&n.set == n.set {
			names = append(names, n.name)
			t &^= n.set
		}
	}
	return names
}

// TypeOf returns the type of a JSON value, or 0 if raw is empty or invalid.
func TypeOf(raw json.RawMessage) Types {
	if len(raw) == 0 {
		return 0
	}
	switch raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Boolean
	case 'n':
		return Null
	}
	if !jsonraw.IsNumber(raw) {
		return 0
	}
	digits, exponent, ok := strings.Cut(jsonraw.PlainNumber(string(raw)), "e")
	power, err := strconv.ParseInt(exponent, 10, 64)
	if ok && err == nil && (power >= 0 || digits == "0") {
		return Whole
	}
	return Fraction
}
