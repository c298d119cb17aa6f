// Package sanitize makes text from a server or a file safe to show: characters that control a
// terminal or are invisible become visible text.
package sanitize

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Picture appends the visible form of the character r, whose bytes are raw. r is utf8.RuneError
// and raw has one byte for an invalid byte.
type Picture func(b []byte, r rune, raw string) []byte

// Signs appends the picture of a character for a reader: ␛, ␊, \x9b for an invalid byte, ⟨U+202E⟩.
func Signs(b []byte, r rune, raw string) []byte {
	if r == utf8.RuneError && len(raw) == 1 {
		return fmt.Appendf(b, `\x%02x`, raw[0])
	}
	if r < 0x20 {
		return utf8.AppendRune(b, 0x2400+r)
	}
	if r == 0x7f {
		return append(b, "␡"...)
	}
	return fmt.Appendf(b, "⟨U+%04X⟩", r)
}

// ASCII appends the picture of a character in plain ASCII: ^[, <U+202E>.
func ASCII(b []byte, r rune, raw string) []byte {
	if r == utf8.RuneError && len(raw) == 1 {
		return fmt.Appendf(b, `\x%02x`, raw[0])
	}
	if r < 0x20 || r == 0x7f {
		return append(b, '^', byte(r)^0x40)
	}
	return fmt.Appendf(b, "<U+%04X>", r)
}

// JSON appends the picture of a character in a JSON string: a \u escape.
func JSON(b []byte, r rune, raw string) []byte {
	if r == utf8.RuneError && len(raw) == 1 {
		return append(b, `\ufffd`...)
	}
	if r == '\r' {
		return append(b, ' ') // it is between tokens, since strings contain no raw control characters
	}
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(b, `\u%04x`, r)
}

// Line returns a one-line text that is safe for a terminal: bytes and characters that could control
// the terminal or are invisible become visible text. The result has no line ends. Line is
// idempotent.
func Line(s string, show Picture) string { return (&cleaner{show: show}).cleanAll(s) }

// Block sanitizes a text as Line does, but keeps line ends and tabs. It keeps a carriage return only
// as part of CRLF, because a lone one overwrites the line.
func Block(s string, show Picture) string {
	return (&cleaner{keepsLines: true, show: show}).cleanAll(s)
}

// Hidden returns the number of characters of s that Block makes visible: a reader of the plain text
// would not see them.
func Hidden(s string) int {
	n := 0
	Block(s, func(b []byte, _ rune, _ string) []byte {
		n++
		return b
	})
	return n
}

// Bytes sanitizes bytes as Block does. It returns raw itself if nothing has to change.
func Bytes(raw []byte, show Picture) []byte {
	if PlainBytes(raw) {
		return raw
	}
	out, _ := (&cleaner{keepsLines: true, show: show}).clean(make([]byte, 0, len(raw)+len(raw)/8), string(raw), true)
	return out
}

// NewWriter returns a writer that sanitizes text as Block does and writes it to w. Close writes
// buffered bytes, such as a truncated character, and leaves w open.
func NewWriter(w io.Writer, show Picture) io.WriteCloser {
	return &writer{w: w, c: cleaner{keepsLines: true, show: show}}
}

// A writer is the writer that NewWriter returns.
type writer struct {
	w io.Writer
	c cleaner
	// pending are bytes that are not written yet: their form depends on the next bytes.
	pending string
}

func (s *writer) Write(p []byte) (int, error) {
	if s.pending == "" && len(p) > 0 && PlainBytes(p) {
		s.c.noteKept(rune(p[len(p)-1]))
		return s.w.Write(p)
	}
	if err := s.writeClean(s.pending+string(p), false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *writer) Close() error { return s.writeClean(s.pending, true) }

// writeClean writes the sanitized text and keeps the bytes that need more text. final is set at the end.
func (s *writer) writeClean(text string, final bool) error {
	out, used := s.c.clean(nil, text, final)
	s.pending = text[used:]
	if len(out) == 0 {
		return nil
	}
	_, err := s.w.Write(out)
	return err
}

// PlainBytes reports whether raw consists of printable ASCII and line feeds.
func PlainBytes(raw []byte) bool {
	for ; len(raw) >= 8; raw = raw[8:] {
		// For eight bytes at once: the highest bit of a byte is set in x if the byte is above ASCII, in
		// ^(x+0x60…) if it is below the space, and in x+1… if it is DEL. A line feed, or a carry from one
		// byte to the next, sets it too: isPlainASCII decides.
		x := binary.LittleEndian.Uint64(raw)
		if (x|^(x+0x60*everyByte)|(x+everyByte))&(0x80*everyByte) != 0 && !isPlainASCII(raw[:8]) {
			return false
		}
	}
	return isPlainASCII(raw)
}

const everyByte = 0x0101010101010101

// isPlainASCII implements PlainBytes byte by byte.
func isPlainASCII(raw []byte) bool {
	for _, b := range raw {
		if b != '\n' && (b < 0x20 || b > 0x7e) {
			return false
		}
	}
	return true
}

// A cleaner sanitizes text with show. It remembers the previous characters, because an emoji may
// contain joiners that would be invisible text elsewhere.
type cleaner struct {
	keepsLines bool
	show       Picture
	// prev is the previous character. afterEmoji is true if it ends an emoji, which a joiner may
	// follow, and hasSelector if that emoji has a variation selector already.
	prev                    rune
	afterEmoji, hasSelector bool
}

// cleanAll returns the sanitized text of s.
func (c *cleaner) cleanAll(s string) string {
	if IsPlain(s) {
		return s
	}
	out, _ := c.clean(make([]byte, 0, len(s)+len(s)/4), s, true)
	return string(out)
}

// IsPlain reports whether a text consists of printable ASCII.
func IsPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// clean appends the sanitized text to b, and returns the number of bytes of s that it used. The form of
// the other bytes depends on the text that follows s. If final is set, no text follows, and it uses all.
func (c *cleaner) clean(b []byte, s string, final bool) (out []byte, used int) {
	for used < len(s) {
		rest := s[used:]
		r, n := utf8.DecodeRuneInString(rest)
		after := rest[n:]
		if !final && (!utf8.FullRuneInString(rest) || needsNext(r) && !utf8.FullRuneInString(after)) {
			break
		}
		next, _ := utf8.DecodeRuneInString(after)
		if c.isKept(r, next, n) {
			b = append(b, rest[:n]...)
			c.noteKept(r)
		} else {
			b = c.show(b, r, rest[:n])
			c.prev = 0
			c.afterEmoji = false
			c.hasSelector = false
		}
		used += n
	}
	return b, used
}

const (
	joiner        = 0x200d
	emojiSelector = 0xfe0f
	keycap        = 0x20e3
)

// needsNext reports whether the form of r depends on the next character.
func needsNext(r rune) bool { return r == '\r' || r == joiner || r == emojiSelector }

// isKept reports whether the character r before next stays unchanged. size is its length in bytes.
func (c *cleaner) isKept(r, next rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1:
		return false
	case r == '\n' || r == '\t':
		return c.keepsLines
	case r == '\r':
		return c.keepsLines && next == '\n'
	// Families and hearts are written with a joiner between two emoji and one selector after one.
	// These cannot carry text. A joiner elsewhere or a second selector can.
	case r == joiner:
		return c.afterEmoji && isPictographic(next)
	case r == emojiSelector:
		isKeycap := next == keycap && strings.ContainsRune("0123456789#*", c.prev)
		return isKeycap || c.afterEmoji && !c.hasSelector
	}
	return !isInvisible(r)
}

// noteKept records that r was written.
func (c *cleaner) noteKept(r rune) {
	switch {
	case r == emojiSelector:
		c.hasSelector = true
	case r == joiner:
		c.afterEmoji = false
		c.hasSelector = false
	default:
		c.afterEmoji = isPictographic(r)
		c.hasSelector = false
	}
	c.prev = r
}

// isInvisible reports whether r controls a terminal or is invisible: a control character, a format
// character (bidirectional, zero-width, tag), a line or paragraph separator, or a character that
// Unicode calls default-ignorable.
func isInvisible(r rune) bool {
	if r < 0x80 {
		return r < 0x20 || r == 0x7f
	}
	if unicode.Is(unicode.Cc, r) || r == 0x2028 || r == 0x2029 {
		return true
	}
	// Noncharacters are never text, and their effect on a terminal is undefined.
	if r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef {
		return true
	}
	if unicode.Is(unicode.Cf, r) {
		// Signs before a number in Arabic and Kaithi are visible.
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, ignorable)
}

// ignorable are the default-ignorable ranges without a table in package unicode: they are
// unassigned and reserved for format characters.
var ignorable = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0xfff0, Hi: 0xfff8, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// isPictographic reports whether r is in a block of Unicode's Extended_Pictographic, or a skin tone.
// It accepts too many characters, which only allows them to be joined to an emoji.
func isPictographic(r rune) bool { return unicode.Is(pictographs, r) }

// pictographs are the ranges that isPictographic accepts.
var pictographs = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00a9, Hi: 0x00a9, Stride: 1},
		{Lo: 0x00ae, Hi: 0x00ae, Stride: 1},
		{Lo: 0x203c, Hi: 0x203c, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2194, Hi: 0x21aa, Stride: 1},
		{Lo: 0x231a, Hi: 0x23ff, Stride: 1},
		{Lo: 0x24c2, Hi: 0x24c2, Stride: 1},
		{Lo: 0x25aa, Hi: 0x25fe, Stride: 1},
		{Lo: 0x2600, Hi: 0x27bf, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2b05, Hi: 0x2b55, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303d, Hi: 0x303d, Stride: 1},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
	LatinOffset: 2,
}
