package recorded

import (
	"bytes"
	"encoding/json"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
	"mcpc/internal/saved"
)

// A result is expected member by member: those that are not named may be anything, lists
// have to be as long, and saved.Any matches any value.

// expectable is a result as the same call may give it again. What the protocol adds to
// every result is left out, and what is secret is left open.
func expectable(f *cmdutil.Factory, result json.RawMessage) json.RawMessage {
	hidden, _ := f.Secrets.Bytes(result)
	for _, name := range []string{"_meta", "resultType"} {
		result = jsonraw.Without(result, name)
	}
	return commonOf(result, hidden)
}

// commonOf is what two values have in common.
func commonOf(a, b json.RawMessage) json.RawMessage {
	if members, others, both := Objects(a, b); both {
		object := json.RawMessage("{}")
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				object = jsonraw.With(object, m.Name, commonOf(m.Value, other))
			}
		}
		return object
	}
	if items, others, both := Arrays(a, b); both {
		for i, other := range others {
			items[i] = commonOf(items[i], other)
		}
		return arguments.AsList(items)
	}
	if !SameScalar(a, b) {
		return jsonraw.Quote(saved.Any)
	}
	return a
}

func Objects(a, b json.RawMessage) (first, second jsonraw.Members, both bool) {
	first, err := jsonraw.Object(a)
	second, failed := jsonraw.Object(b)
	return first, second, err == nil && failed == nil
}

// Arrays are two of the same length.
func Arrays(a, b json.RawMessage) (first, second []json.RawMessage, both bool) {
	first, err := jsonraw.Array(a)
	second, failed := jsonraw.Array(b)
	return first, second, err == nil && failed == nil && len(first) == len(second)
}

// SameScalar compares what has no parts: texts whatever their escapes.
func SameScalar(a, b json.RawMessage) bool {
	text, isText := jsonraw.Text(a)
	other, alsoText := jsonraw.Text(b)
	return isText && alsoText && text == other || bytes.Equal(a, b)
}
