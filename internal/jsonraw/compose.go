package jsonraw

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

func OrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// OneLine gives JSON without raw line ends, which over stdio would end the
// message (transports, "stdio": messages contain no embedded newlines). Bytes
// that hold none are given back as they are. In what is not JSON the line ends
// become spaces.
func OneLine(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw
	}
	if compact := Compact(raw); !bytes.ContainsAny(compact, "\r\n") {
		return compact
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(raw)))
}

// With returns object with the member name set to value: every occurrence of the
// member is replaced in place, else the member is added behind the last one. Every
// other byte stays as it is. An empty object means {}; anything but an object is
// returned unchanged.
func With(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if len(bytes.Trim(object, WhiteSpace)) == 0 {
		object = json.RawMessage("{}")
	}
	value = OrNull(value)
	var out json.RawMessage
	members := 0
	taken := 0 // of object, the first so many bytes are in out
	err := EachMember(object, func(i int, is string, from, to int) bool {
		members = i + 1
		if is == name {
			out = append(append(out, object[taken:from]...), value...)
			taken = to
		}
		return true
	})
	if err != nil {
		return object
	}
	if taken == 0 {
		taken = bytes.LastIndexByte(object, '}')
		out = append(out, object[:taken]...)
		if members > 0 {
			out = append(out, ',')
		}
		out = append(append(appendQuote(out, name), ':'), value...)
	}
	return append(out, object[taken:]...)
}

// Append gives the object with more members behind its last one; every byte that
// stood there stays. The caller has seen that it is an object in which none of the
// names stands: unlike With it reads nothing.
func Append(object json.RawMessage, more ...Member) json.RawMessage {
	end := bytes.LastIndexByte(object, '}')
	inner := bytes.Trim(object, WhiteSpace)
	if len(more) == 0 || len(inner) < 2 {
		return object
	}
	size := len(object)
	for _, m := range more {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make(json.RawMessage, 0, size), object[:end]...)
	comma := len(bytes.Trim(inner[1:len(inner)-1], WhiteSpace)) > 0
	for _, m := range more {
		if comma {
			out = append(out, ',')
		}
		comma = true
		out = append(append(appendQuote(out, m.Name), ':'), OrNull(m.Value)...)
	}
	return append(out, object[end:]...)
}

// Without gives the object without the member name, in whichever of its places. The
// values of the others stay as they are. What is not an object, or has no such member, comes
// back unchanged.
func Without(object json.RawMessage, name string) json.RawMessage {
	members, err := Object(object)
	if _, found := members.Get(name); err != nil || !found {
		return object
	}
	members = slices.DeleteFunc(members, func(m Member) bool { return m.Name == name })
	return Append(json.RawMessage("{}"), members...)
}

// List is a JSON array of the items.
func List(items []json.RawMessage) json.RawMessage {
	return ListOf(items, func(item json.RawMessage) json.RawMessage { return item })
}

// ListOf is a JSON array of the values that each item makes.
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

// Marshal is json.Marshal without the rewriting of <, > and &.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// OrEmpty is the object, or an empty one where there is none.
func OrEmpty(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}
