package main

import (
	"bytes"
	"encoding/json"
	"strconv"

	"mcpc/internal/saved"
	"mcpc/internal/wire"
)

// A result is expected member by member: those that are not named may be anything, lists
// have to be as long, and saved.Any stands for any value.

// expectable is a result as the same call may give it again. What the protocol adds to
// every result is left out, and what is secret is left open.
func (a *app) expectable(result json.RawMessage) json.RawMessage {
	hidden, _ := a.secrets.Bytes(result)
	for _, name := range []string{"_meta", "resultType"} {
		result = wire.Without(result, name)
	}
	return commonOf(result, hidden)
}

// commonOf is what two values have in common.
func commonOf(a, b json.RawMessage) json.RawMessage {
	if members, others, both := objects(a, b); both {
		object := json.RawMessage("{}")
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				object = wire.With(object, m.Name, commonOf(m.Value, other))
			}
		}
		return object
	}
	if items, others, both := arrays(a, b); both {
		for i, other := range others {
			items[i] = commonOf(items[i], other)
		}
		return asList(items)
	}
	if !sameScalar(a, b) {
		return wire.Quote(saved.Any)
	}
	return a
}

// holdsResult holds what came against the result that is expected.
func (j *judgement) holdsResult(e saved.Expect) {
	want, err := j.filled(e.Result)
	got := j.judged()
	switch {
	case err != nil:
		j.fails(e.ResultAt, err.Error())
	case got == nil:
		j.miss(e.ResultAt, "a result", "no response")
	default:
		j.holdsValue(want, got, e.ResultAt)
	}
}

func (j *judgement) holdsValue(want, got json.RawMessage, at string) {
	if textOf(want) == saved.Any {
		return
	}
	if members, others, both := objects(want, got); both {
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				j.holdsValue(m.Value, other, wire.Pointer(at, m.Name))
			} else {
				j.miss(wire.Pointer(at, m.Name), m.Name+": "+wire.Excerpt(m.Value, mostGot), "no "+m.Name)
			}
		}
		return
	}
	if items, others, both := arrays(want, got); both {
		for i, item := range items {
			j.holdsValue(item, others[i], wire.Pointer(at, strconv.Itoa(i)))
		}
		return
	}
	if !sameScalar(want, got) {
		j.miss(at, wire.Excerpt(want, mostGot), wire.Excerpt(got, mostGot))
	}
}

func objects(a, b json.RawMessage) (first, second wire.Members, both bool) {
	first, err := wire.Object(a)
	second, failed := wire.Object(b)
	return first, second, err == nil && failed == nil
}

// arrays are two of the same length.
func arrays(a, b json.RawMessage) (first, second []json.RawMessage, both bool) {
	first, err := wire.Array(a)
	second, failed := wire.Array(b)
	return first, second, err == nil && failed == nil && len(first) == len(second)
}

// sameScalar compares what has no parts: texts whatever their escapes.
func sameScalar(a, b json.RawMessage) bool {
	text, isText := wire.Text(a)
	other, alsoText := wire.Text(b)
	return isText && alsoText && text == other || bytes.Equal(a, b)
}
