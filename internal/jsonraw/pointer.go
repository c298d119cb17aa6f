package jsonraw

import (
	"encoding/json"
	"strconv"
	"strings"
)

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer appends names to a JSON pointer (RFC 6901).
func Pointer(at string, names ...string) string {
	for _, name := range names {
		at += "/" + pointerEscaper.Replace(name)
	}
	return at
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")

// At returns the value at a JSON pointer. It reports false if the pointer leads to no value.
func At(raw []byte, pointer string) (value json.RawMessage, ok bool) {
	if pointer == "" {
		return raw, true
	}
	value = raw
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name := pointerUnescaper.Replace(part)
		items, err := Array(value)
		if err != nil { // an object, or a value without parts
			value = First(value, name)
		} else if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(items) {
			value = items[i]
		} else {
			return nil, false
		}
		if value == nil {
			return nil, false
		}
	}
	return value, true
}
