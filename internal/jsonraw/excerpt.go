package jsonraw

import (
	"fmt"
	"unicode/utf8"
)

// CutMark ends an excerpt; the number of bytes that were left out follows it.
const CutMark = "… +"

// Excerpt gives at most n bytes of raw, cut at a character, with the number of
// bytes left out: what an error says of bytes that it cannot show whole.
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

// RuneStart moves i back to where a character begins; in bytes that are no
// UTF-8 it stays near i.
func RuneStart(raw []byte, i int) int {
	for back := 0; back < utf8.UTFMax && i-back > 0 && i < len(raw); back++ {
		if utf8.RuneStart(raw[i-back]) {
			return i - back
		}
	}
	return i
}
