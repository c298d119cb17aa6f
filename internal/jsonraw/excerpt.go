package jsonraw

import (
	"fmt"
	"unicode/utf8"
)

// CutMark marks the end of an excerpt. The number of omitted bytes follows it.
const CutMark = "… +"

// Excerpt returns at most n bytes of raw for an error text, cut between characters, with the number
// of omitted bytes.
func Excerpt(raw []byte, n int) string {
	if len(raw) <= n {
		return string(raw)
	}
	cut := n
	for cut > max(0, n-utf8.UTFMax) && !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return fmt.Sprintf("%s%s%d bytes", raw[:cut], CutMark, len(raw)-cut)
}

// RuneStart returns the start of the character at i. In invalid UTF-8 it returns an index near i.
func RuneStart(raw []byte, i int) int {
	for back := 0; back < utf8.UTFMax && i-back > 0 && i < len(raw); back++ {
		if utf8.RuneStart(raw[i-back]) {
			return i - back
		}
	}
	return i
}
