package jsonraw

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A textReader reads the inside of a string in pieces.
type textReader struct{ escaped, unpaired bool }

// read reads p, which begins within the string: as far as the closing quote, and ended is set
// then, or else to the end of p. Unless p is the last piece, it stops before a character or an
// escape that may go on behind p. ok is false where p is not the inside of a string.
func (t *textReader) read(p []byte, last bool) (n int, ended, ok bool) {
	wide := uint64(0) // has a high bit once a byte was not ASCII
	for {
		if n, wide = bareTo(p, n, wide); n == len(p) {
			ok = !last
			break
		}
		if p[n] != '\\' {
			ended = p[n] == '"'
			ok = ended
			break
		}
		size := 2
		if n+1 == len(p) || unescapes[p[n+1]] == 0 {
			if ok = !last && len(p)-n < longestEscape; ok {
				break
			}
			if _, size = EscapedCharacter(p[n:]); size == 0 {
				if _, ok = EscapedRune(p[n:]); !ok {
					break
				}
				size, t.unpaired = 6, true
			}
		}
		n, t.escaped = n+size, true
	}
	if ok && wide&high != 0 {
		if n == len(p) {
			n = wholeRunes(p)
		}
		ok = utf8.Valid(p[:n])
	}
	if ended {
		n++
	}
	return n, ended, ok
}

// longestEscape is how long an escape is: two of a pair of surrogates.
const longestEscape = 12

// wholeRunes is the length of p without a character at its end that was cut.
func wholeRunes(p []byte) int {
	if at := lastRune(p); !utf8.FullRune(p[at:]) {
		return at
	}
	return len(p)
}

// lastRune is where the last character of a text begins, whole or not.
func lastRune(text []byte) int {
	at := len(text) - 1
	for at > max(0, len(text)-utf8.UTFMax) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// bareTo returns the place of the first byte of p[i:] that does not stand for itself in a
// string, or len(p); and wide with the bits of what it passes, and of some bytes more.
func bareTo(p []byte, i int, wide uint64) (int, uint64) {
	for {
		for near := 0; near < 4 && len(p)-i >= 8; near++ {
			x := binary.LittleEndian.Uint64(p[i:])
			wide |= x
			if found := special(x) & high; found != 0 {
				return i + bits.TrailingZeros64(found)/8, wide
			}
			i += 8
		}
		for ; len(p)-i >= 32; i += 32 {
			q := p[i : i+32 : i+32]
			a, b := binary.LittleEndian.Uint64(q), binary.LittleEndian.Uint64(q[8:])
			c, d := binary.LittleEndian.Uint64(q[16:]), binary.LittleEndian.Uint64(q[24:])
			if (special(a)|special(b)|special(c)|special(d))&high != 0 {
				break
			}
			wide |= a | b | c | d
		}
		if len(p)-i < 32 {
			break
		}
	}
	for ; i < len(p) && bare[p[i]]; i++ {
		wide |= uint64(p[i])
	}
	return i, wide
}

// special has the highest bit of a byte set where x has a byte that is a quote, a backslash or
// below a blank. As in odd that holds for the lowest one that is set.
func special(x uint64) uint64 {
	return (((x ^ ('"'^' ')*each) - (' '+1)*each) | ((x ^ '\\'*each) - each)) &^ x
}

// A longText is what is noted of a long string in a file, so that it is read once.
type longText struct {
	length            int
	escaped, unpaired bool
}
