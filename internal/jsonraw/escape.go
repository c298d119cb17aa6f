package jsonraw

import (
	"unicode/utf16"
	"unicode/utf8"
)

// EscapedCharacter decodes one \u escape, or two that are a surrogate pair. size is their length in
// bytes, or 0 if raw does not begin with either.
func EscapedCharacter(raw []byte) (r rune, size int) {
	const escapeSize = len(`\uFFFF`)
	r, ok := EscapedRune(raw)
	if ok && !utf16.IsSurrogate(r) {
		return r, escapeSize
	}
	if low, isFollowed := EscapedRune(raw[min(escapeSize, len(raw)):]); ok && isFollowed {
		r = utf16.DecodeRune(r, low) // RuneError if they are not a pair
		if r != utf8.RuneError {
			return r, 2 * escapeSize
		}
	}
	return 0, 0
}

// EscapedRune decodes a backslash, a u and four hexadecimal digits at the beginning of raw. It
// reports false if raw begins differently.
func EscapedRune(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	high, isHighValid := HexByte(raw[2:])
	low, isLowValid := HexByte(raw[4:])
	return rune(high)<<8 | rune(low), isHighValid && isLowValid
}

// HexByte decodes two hexadecimal digits at the beginning of raw, which must have at least two
// bytes. It reports false if they are not digits.
func HexByte(raw []byte) (byte, bool) {
	high := hexDigit(raw[0])
	low := hexDigit(raw[1])
	return high<<4 | low, high < 16 && low < 16
}

// hexDigit returns the value of a hexadecimal digit, or 255 for any other character.
func hexDigit(c byte) byte {
	if '0' <= c && c <= '9' {
		return c - '0'
	}
	if 'a' <= c|0x20 && c|0x20 <= 'f' {
		return c | 0x20 - 'a' + 10
	}
	return 255
}

// AppendEscaped appends text to b as the inside of a JSON string. It escapes only the characters
// that JSON requires (RFC 8259, section 7).
func AppendEscaped(b, text []byte) []byte {
	from := 0
	for i, c := range text {
		if escaped[c] == 0 {
			continue
		}
		b = append(b, text[from:i]...)
		from = i + 1
		b = append(b, '\\', escaped[c])
		if escaped[c] == 'u' {
			b = append(b, '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(b, text[from:]...)
}

// escaped maps a byte to the character after its backslash, or to 0 if it is not escaped.
var escaped = func() (to [256]byte) {
	for c := range 0x20 {
		to[c] = 'u'
	}
	to['"'] = '"'
	to['\\'] = '\\'
	to['\n'] = 'n'
	to['\r'] = 'r'
	to['\t'] = 't'
	return to
}()

const hex = "0123456789abcdef"
