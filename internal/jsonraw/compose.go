package jsonraw

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// OrNull returns raw, or null if raw is empty.
func OrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// OneLine returns JSON without line ends, which would end a message over stdio (transports,
// "stdio": messages contain no embedded newlines). In invalid JSON it replaces line ends by spaces.
// It returns raw itself if raw has no line ends.
func OneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	if compact := Compact(raw); !bytes.ContainsAny(compact, "\r\n") {
		return compact
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(raw)))
}

// With returns object with the member name set to value, or to null if value is empty. It replaces
// every occurrence of the member in place, or appends the member. All other bytes stay unchanged.
// Empty bytes are {}. It returns a value that is not an object unchanged.
func With(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if len(bytes.Trim(object, WhiteSpace)) == 0 {
		object = json.RawMessage("{}")
	}
	value = OrNull(value)
	var out json.RawMessage
	members := 0
	copied := 0 // the number of bytes of object that are in out
	err := EachMember(object, func(i int, memberName string, from, to int) bool {
		members = i + 1
		if memberName == name {
			out = append(append(out, object[copied:from]...), value...)
			copied = to
		}
		return true // go on: there may be duplicates
	})
	if err != nil {
		return object
	}
	if copied == 0 { // the object has no such member
		copied = bytes.LastIndexByte(object, '}')
		out = append(out, object[:copied]...)
		if members > 0 {
			out = append(out, ',')
		}
		out = append(append(appendQuote(out, name), ':'), value...)
	}
	return append(out, object[copied:]...)
}

// Append returns object with appended members; an empty value becomes null. Unlike With it reads
// nothing: the caller guarantees that object is an object without members of these names. It returns
// object itself if there are no members to append, or if it is too short for an object.
func Append(object json.RawMessage, members ...Member) json.RawMessage {
	end := bytes.LastIndexByte(object, '}')
	inner := bytes.Trim(object, WhiteSpace)
	if len(members) == 0 || len(inner) < 2 {
		return object
	}
	size := len(object)
	for _, m := range members {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make(json.RawMessage, 0, size), object[:end]...)
	needsComma := len(bytes.Trim(inner[1:len(inner)-1], WhiteSpace)) > 0
	for _, m := range members {
		if needsComma {
			out = append(out, ',')
		}
		needsComma = true
		out = append(append(appendQuote(out, m.Name), ':'), OrNull(m.Value)...)
	}
	return append(out, object[end:]...)
}

// Without returns object without all members called name. The other values stay unchanged. It
// returns object unchanged if it has no such member or is not an object.
func Without(object json.RawMessage, name string) json.RawMessage {
	members, err := Object(object)
	if _, found := members.Get(name); err != nil || !found {
		return object
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Name == name })
	return Append(json.RawMessage("{}"), members...)
}

// List returns a JSON array of the items.
func List(items []json.RawMessage) json.RawMessage {
	return ListOf(items, func(item json.RawMessage) json.RawMessage { return item })
}

// ListOf returns a JSON array with the value of each item.
func ListOf[T any, B ~[]byte](items []T, value func(T) B) json.RawMessage {
	b := []byte{'['}
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, value(item)...)
	}
	return append(b, ']')
}

// Marshal encodes v as json.Marshal does, but without escaping <, > and &.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// OrEmpty returns params, or {} if params is nil.
func OrEmpty(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}
