package jsonraw

import (
	"encoding/json"
	"strconv"
	"strings"
)

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer is a JSON pointer (RFC 6901) with more names behind it.
func Pointer(at string, names ...string) string {
	for _, name := range names {
		at += "/" + pointerEscaper.Replace(name)
	}
	return at
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// At returns the value at a JSON pointer; ok is false if there is none.
func At(raw []byte, pointer string) (value json.RawMessage, ok bool) {
	value = raw
	for pointer != "" {
		name, rest, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		if pointer = rest; pointer != "" {
			pointer = "/" + rest
		}
		items, err := Array(value)
		if err != nil {
			value = First(value, pointerUnescaper.Replace(name))
		} else if at, err := strconv.Atoi(name); err == nil && at >= 0 && at < len(items) {
			value = items[at]
		} else {
			value = nil
		}
		if value == nil {
			return nil, false
		}
	}
	return value, true
}
