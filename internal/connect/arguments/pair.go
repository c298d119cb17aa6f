package arguments

import (
	"encoding/json"
	"fmt"
	"strings"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/usage"
)

// Assigned parses NAME=VALUE words into an object of strings. A repeated name makes a list. A
// single word may be a JSON object, @FILE or -. It returns an error for a word without a name.
func Assigned(e *host.Env, words []string) (json.RawMessage, error) {
	if len(words) == 1 {
		isSource := words[0] == "-" || strings.HasPrefix(words[0], "@")
		if isSource || strings.HasPrefix(strings.TrimSpace(words[0]), "{") {
			return Arguments(e, words[0])
		}
	}
	object := json.RawMessage("{}")
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, usage.New(
				fmt.Sprintf("not NAME=VALUE: %q", word),
				`pass several one after the other, or all in one JSON object: '{"a":"1"}'`,
			)
		}
		members, _ := jsonraw.Object(object)
		before, isRepeated := members.Get(name)
		object = jsonraw.With(object, name, appendRepeated(before, isRepeated, jsonraw.Quote(value)))
	}
	return object, nil
}

// appendRepeated returns the value of a name: value alone or, if the name is repeated, a list of the
// earlier values and value. before is the earlier value, or the list of them.
func appendRepeated(before json.RawMessage, isRepeated bool, value json.RawMessage) json.RawMessage {
	if !isRepeated {
		return value
	}
	items, err := jsonraw.Array(before)
	if err != nil { // before is a single string: no value is a list by itself
		items = []json.RawMessage{before}
	}
	return AsList(append(items, value))
}
