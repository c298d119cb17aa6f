package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// A stringList is a list of texts. If a server sends a text instead, its words are the list.
// Elements that are not texts are ignored. Servers write metadata by hand, often with a text for a
// list of one: readable values are used, and a broken rule is reported, which stops a login only
// with Flow.Strict.
type stringList []string

// UnmarshalJSON reads a list or a text. It never fails; other values are an empty list.
func (l *stringList) UnmarshalJSON(raw []byte) error {
	*l = nil
	if one, ok := jsonraw.Text(raw); ok {
		*l = strings.Fields(one)
	}
	items, _ := jsonraw.Array(raw)
	for _, item := range items {
		if one, ok := jsonraw.Text(item); ok {
			*l = append(*l, one)
		}
	}
	return nil
}

// A looseBool is true or false, or a text "true" or "false".
type looseBool bool

// UnmarshalJSON never fails; other values are false.
func (f *looseBool) UnmarshalJSON(raw []byte) error {
	*f = strings.Trim(string(raw), `"`) == "true"
	return nil
}

// A looseText is a text, or a number as it was written.
type looseText string

// UnmarshalJSON never fails; other values are "".
func (l *looseText) UnmarshalJSON(raw []byte) error {
	*l = ""
	if one, ok := jsonraw.Text(raw); ok {
		*l = looseText(one)
	} else if jsonraw.IsNumber(raw) {
		*l = looseText(raw)
	}
	return nil
}

// A metadata is a metadata document with its members as they were sent.
type metadata struct {
	// what names the document in errors, rule is their rule.
	what    string
	rule    Rule
	members jsonraw.Members
}

// readMetadata parses a document into a struct. The error is nil, or says which member has a wrong
// type. It wraps errNoObject if the document is not a JSON object.
func readMetadata(raw []byte, into any, what string, rule Rule) (metadata, *Error) {
	m := metadata{what: what, rule: rule}
	err := json.Unmarshal(raw, into)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok && wrong.Field != "" { // without a field, the document itself is not an object
		return m, &Error{
			Rule: rule,
			Text: fmt.Sprintf("the %s has a %q of type %s, not %s", what, wrong.Field, wrong.Value, wrong.Type),
		}
	}
	if err != nil {
		return m, &Error{Rule: rule, Text: "the " + what + " is not a valid JSON object", Err: errNoObject}
	}
	m.members, _ = jsonraw.Object(raw)
	return m, nil
}

// checkLists reports the members that should be lists and are not. section names the requirement. It
// returns an error if the flow is strict.
func (m metadata) checkLists(flow *Flow, section string, names ...string) error {
	for _, name := range names {
		if kind := m.kind(name); kind == "" || kind == "array" {
			continue
		}
		if err := flow.tolerate(fmt.Sprintf("%q is an array (%s)", name, section), &Error{
			Rule: m.rule,
			Text: "the " + m.what + " has " + m.describeType(name),
		}); err != nil {
			return err
		}
	}
	return nil
}

// describeType returns what is wrong with a member that should be a list of texts: its type, or that it
// is an array without a text.
func (m metadata) describeType(name string) string {
	if m.kind(name) == "array" {
		return fmt.Sprintf("a %q without a string in it", name)
	}
	return fmt.Sprintf("a %q of type %s, not array", name, m.kind(name))
}

// kind returns the JSON type of a member, or "" if it is missing or null.
func (m metadata) kind(name string) string {
	raw := m.members.Value(name)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"':
		return "string"
	case raw[0] == '[':
		return "array"
	case raw[0] == '{':
		return "object"
	case slices.Contains([]string{"true", "false"}, string(raw)):
		return "boolean"
	}
	return "number"
}
