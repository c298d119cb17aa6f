package jsonraw

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// A textReader reads the content of a string in pieces.
type textReader struct{ hasEscape, hasUnpaired bool }

// read reads a piece of the string and returns the number of bytes read. It stops after the closing
// quote and sets isEnded, or at the end of the piece. Unless isLast is set, it stops before a character
// or an escape that the piece cuts off. ok is false if the piece is not valid within a string, or is the
// last one and has no closing quote.
func (t *textReader) read(piece []byte, isLast bool) (n int, isEnded, ok bool) {
	quote := -1
	escape := -1
	for {
		quote = nextByte(piece, n, quote, '"')
		escape = nextByte(piece[:quote], n, escape, '\\')
		stop := min(quote, escape)
		if hasControl(piece[n:stop]) {
			return n, false, false
		}
		n = stop
		if n == len(piece) {
			ok = !isLast
			break
		}
		if n == quote {
			isEnded = true
			ok = true
			break
		}
		size := 2 // a backslash and one character
		if n+1 == len(piece) || unescapes[piece[n+1]] == 0 {
			ok = !isLast && len(piece)-n < longestEscape
			if ok { // the next piece may complete the escape
				break
			}
			_, size = EscapedCharacter(piece[n:])
			if size == 0 {
				_, ok = EscapedRune(piece[n:]) // half of a surrogate pair, or no escape at all
				if !ok {
					break
				}
				size = 6
				t.hasUnpaired = true
			}
		}
		n += size
		t.hasEscape = true
	}
	if ok {
		if n == len(piece) {
			n = wholeRunes(piece)
		}
		ok = utf8.Valid(piece[:n])
	}
	if isEnded {
		n++
	}
	return n, isEnded, ok
}

// nextByte returns the index in p of the first c from the offset from on, or len(p). known is the result
// of the previous call for a smaller from, which may still be valid, or -1.
func nextByte(p []byte, from, known int, c byte) int {
	if known >= from {
		return known
	}
	if i := bytes.IndexByte(p[from:], c); i >= 0 {
		return from + i
	}
	return len(p)
}

// hasControl reports whether a text has a byte below the space. It checks eight bytes at once:
// subtracting a space from a smaller byte sets its highest bit.
func hasControl(p []byte) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	for ; len(p) >= 8; p = p[8:] {
		x := binary.LittleEndian.Uint64(p)
		if (x-' '*each)&^x&high != 0 { // &^x: bytes that had the highest bit before do not count
			return true
		}
	}
	return slices.ContainsFunc(p, func(c byte) bool { return c < ' ' })
}

// longestEscape is the length of an escaped surrogate pair.
const longestEscape = 12

// wholeRunes returns the length of p without a truncated character at its end.
func wholeRunes(p []byte) int {
	if at := lastRune(p); !utf8.FullRune(p[at:]) {
		return at
	}
	return len(p)
}

// lastRune returns the offset of the last character of a text, which may be truncated.
func lastRune(text []byte) int {
	at := len(text) - 1
	for at > max(0, len(text)-utf8.UTFMax) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// A longText caches the result of reading a long string in a file.
type longText struct {
	length            int
	escaped, unpaired bool
}
