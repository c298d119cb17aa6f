package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
)

// Servers write metadata by hand, with a text for a list of one. What is readable is used; a rule is told as
// broken, and stops a login only with Flow.Strict.

// words are a list of texts. A text stands for the words in it, and texts of a list count that are there.
type words []string

// UnmarshalJSON never fails. What is neither a text nor a list is no words.
func (l *words) UnmarshalJSON(raw []byte) error {
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

// A flag is true or false, or the text of one of them.
type flag bool

// UnmarshalJSON never fails. What is neither is false.
func (f *flag) UnmarshalJSON(raw []byte) error {
	*f = strings.Trim(string(raw), `"`) == "true"
	return nil
}

// A label is a text, or a number as it was written.
type label string

// UnmarshalJSON never fails. What is neither is "".
func (l *label) UnmarshalJSON(raw []byte) error {
	*l = ""
	if one, ok := jsonraw.Text(raw); ok {
		*l = label(one)
	} else if jsonraw.IsNumber(raw) {
		*l = label(raw)
	}
	return nil
}

// A metadata document has its members as they were sent.
type metadata struct {
	what    string
	rule    Rule
	members jsonraw.Members
}

// readMetadata reads a document into a struct. The error is nil, or says which member has a type that it may not
// have; it wraps errNoObject if the document is not a JSON object.
func readMetadata(raw []byte, into any, what string, rule Rule) (metadata, *Error) {
	m := metadata{what: what, rule: rule}
	err := json.Unmarshal(raw, into)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok && wrong.Field != "" {
		return m, &Error{Rule: rule,
			Text: fmt.Sprintf("the %s has a %q of type %s, not %s", what, wrong.Field, wrong.Value, wrong.Type)}
	}
	if err != nil {
		return m, &Error{Rule: rule, Text: "the " + what + " is not a valid JSON object", Err: errNoObject}
	}
	m.members, _ = jsonraw.Object(raw)
	return m, nil
}

// checkLists tells of the members that should be lists and are none. section says where that is written.
func (m metadata) checkLists(w *Flow, section string, names ...string) error {
	for _, name := range names {
		if kind := m.kind(name); kind == "" || kind == "array" {
			continue
		}
		if err := w.tolerates(fmt.Sprintf("%q is an array (%s)", name, section), &Error{Rule: m.rule,
			Text: "the " + m.what + " has " + m.typed(name)}); err != nil {
			return err
		}
	}
	return nil
}

func (m metadata) typed(name string) string {
	if m.kind(name) == "array" {
		return fmt.Sprintf("a %q without a text in it", name)
	}
	return fmt.Sprintf("a %q of type %s, not array", name, m.kind(name))
}

// kind returns the JSON type of a member; "" if it is not there, or null.
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
