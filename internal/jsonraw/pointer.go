package jsonraw

import (
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
