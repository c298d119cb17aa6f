package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Outgoing messages are written around the caller's bytes and never through a
// marshaller: json.Marshal would turn <b>& into \u003cb\u003e\u0026, and what a
// user typed would not be what was sent. An id, a result or a value that is
// empty is written as null.

// ComposeRequest writes a request. params is left out where it is nil.
func ComposeRequest(id json.RawMessage, method string, params json.RawMessage) []byte {
	return appendCall(appendID(id), method, params)
}

// ComposeNotification writes a notification. params is left out where it is nil.
func ComposeNotification(method string, params json.RawMessage) []byte {
	return appendCall([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func appendID(id json.RawMessage) []byte {
	return append([]byte(`{"jsonrpc":"2.0","id":`), orNull(id)...)
}

func appendCall(b []byte, method string, params json.RawMessage) []byte {
	b = append(b, `,"method":`...)
	b = append(b, Quote(method)...)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, orNull(OneLine(params))...)
	}
	return append(b, '}')
}

// ComposeResult writes the answer to a server's request.
func ComposeResult(id, result json.RawMessage) []byte {
	b := append(appendID(id), `,"result":`...)
	b = append(b, orNull(OneLine(result))...)
	return append(b, '}')
}

// ComposeError writes the refusal of a server's request.
func ComposeError(id json.RawMessage, code int64, message string) []byte {
	b := append(appendID(id), `,"error":{"code":`...)
	b = strconv.AppendInt(b, code, 10)
	b = append(append(b, `,"message":`...), Quote(message)...)
	return append(b, `}}`...)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// OneLine gives JSON without raw line ends, which over stdio would end the
// message (transports, "stdio": messages contain no embedded newlines). Bytes
// that hold none are given back as they are. In what is no JSON the line ends
// become spaces.
func OneLine(raw []byte) []byte {
	if !bytes.ContainsAny(raw, "\r\n") {
		return raw
	}
	if compact := Compact(raw); !bytes.ContainsAny(compact, "\r\n") {
		return compact
	}
	return []byte(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(raw)))
}

// With gives the object with the member name set to value: in its place if it
// stands there, in each of its places if it stands there more than once, else
// behind the last member. Every other byte stays as it is. An empty object
// means {}; what is no object comes back unchanged.
func With(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	if len(bytes.Trim(object, whiteSpace)) == 0 {
		object = json.RawMessage("{}")
	}
	value = orNull(value)
	var out json.RawMessage
	members, taken := 0, 0 // of object, the first so many bytes are in out
	err := eachMember(object, func(i int, is string, from, to int) bool {
		if members = i + 1; is == name {
			out, taken = append(append(out, object[taken:from]...), value...), to
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
		out = append(append(append(out, Quote(name)...), ':'), value...)
	}
	return append(out, object[taken:]...)
}

// Append gives the object with more members behind its last one; every byte that
// stood there stays. The caller has seen that it is an object in which none of the
// names stands: unlike With it reads nothing.
func Append(object json.RawMessage, more ...Member) json.RawMessage {
	end, inner := bytes.LastIndexByte(object, '}'), bytes.Trim(object, whiteSpace)
	if len(more) == 0 || len(inner) < 2 {
		return object
	}
	size := len(object)
	for _, m := range more {
		size += len(m.Name) + len(m.Value) + len(`"":,`)
	}
	out := append(make(json.RawMessage, 0, size), object[:end]...)
	comma := len(bytes.Trim(inner[1:len(inner)-1], whiteSpace)) > 0
	for _, m := range more {
		if comma {
			out = append(out, ',')
		}
		comma = true
		out = append(append(append(out, Quote(m.Name)...), ':'), orNull(m.Value)...)
	}
	return append(out, object[end:]...)
}

// Without gives the object without the member name, in whichever of its places. The
// values of the others stay as they are. What is no object, or has no such member, comes
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

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer is a JSON pointer (RFC 6901) with more names behind it.
func Pointer(at string, names ...string) string {
	for _, name := range names {
		at += "/" + pointerEscaper.Replace(name)
	}
	return at
}

// OrEmpty is the object, or an empty one where there is none.
func OrEmpty(params json.RawMessage) json.RawMessage {
	if params == nil {
		return json.RawMessage("{}")
	}
	return params
}
