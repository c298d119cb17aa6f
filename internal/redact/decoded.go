package redact

import (
	"bytes"
	"html"
	"sort"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// A decodedView is a text after decoding one level of escapes: of JSON strings, URLs, forms and
// HTML, and line ends in base64. Known values are decoded in the same way, so all kinds are decoded
// at once.
type decodedView struct {
	text []byte
	raw  []byte
	// marks map some places of text to places of raw, in ascending order.
	marks []viewMark
}

// A viewMark records that text[at:] of a view was decoded from raw[from:].
type viewMark struct{ at, from int }

const (
	// maxLevels is how many levels of escapes are decoded: a message in a message in a form in a
	// line of a capture has four, wrapped base64 alone has two.
	maxLevels = 6
	// markEvery is the distance between two marks, in bytes of the view.
	markEvery = 512
	// maxEntity is the maximum length of an HTML entity. wrappedLine is the minimum length of a
	// line of base64 that continues on the next line.
	maxEntity   = 33
	wrappedLine = 60
)

// decode returns a view of a text with some kinds of escapes decoded. It reports false if there are
// no escapes of these kinds.
func decode(raw []byte, kinds class) (v decodedView, ok bool) {
	v.raw = raw
	done := 0
	for i := 0; i < len(raw); {
		if classes[raw[i]]&kinds == 0 {
			i++
			continue
		}
		if v.text == nil {
			v.text = make([]byte, 0, len(raw))
		}
		v.copy(done, i)
		text, size := appendUnescaped(v.text, raw, i)
		done = i + size
		if size == 0 { // not an escape: the byte is copied with those after it
			i++
			continue
		}
		v.text = text
		ok = true
		i += size
	}
	if ok {
		v.copy(done, len(raw))
	}
	return v, ok
}

// copy appends raw[from:to] without decoding. It adds a mark wherever markEvery bytes of text or
// more follow the last one.
func (v *decodedView) copy(from, to int) {
	last := 0
	if n := len(v.marks); n > 0 {
		last = v.marks[n-1].at
	}
	for {
		if len(v.text)-last >= markEvery {
			last = len(v.text)
			v.marks = append(v.marks, viewMark{last, from})
		}
		if to-from <= markEvery {
			v.text = append(v.text, v.raw[from:to]...)
			return
		}
		v.text = append(v.text, v.raw[from:from+markEvery]...)
		from += markEvery
	}
}

// origin returns the range of raw that text[from:to] was decoded from. It decodes raw again, from
// the last mark before the range.
func (v *decodedView) origin(from, to int) (rawFrom, rawTo int) {
	next := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > from })
	var m viewMark // without a mark the beginning
	if next > 0 {
		m = v.marks[next-1]
	}
	rawFrom = -1 // not found yet
	// Decoding can depend on the text before an escape.
	text := append([]byte(nil), v.text[max(0, m.at-wrappedLine):m.at]...)
	skipped := m.at - len(text)
	for i := m.from; i < len(v.raw); {
		offset := skipped + len(text)
		if offset >= to && rawFrom >= 0 {
			return rawFrom, i
		}
		size := 0
		if classes[v.raw[i]]&escape != 0 {
			text, size = appendUnescaped(text, v.raw, i)
		}
		if size == 0 {
			text = append(text, v.raw[i])
			size = 1
		}
		if rawFrom < 0 && skipped+len(text) > from {
			rawFrom = i
		}
		i += size
	}
	return max(rawFrom, 0), len(v.raw) // the range reaches to the end of the text
}

// appendUnescaped decodes the escape at raw[offset:] and appends the result to text. size is the length
// of the escape in bytes, or 0 if there is no escape. A line end within base64 is an escape that
// decodes to nothing.
func appendUnescaped(text, raw []byte, offset int) (_ []byte, size int) {
	switch raw[offset] {
	case '\\':
		return appendUnescapedString(text, raw[offset:])
	case '%':
		if offset+2 < len(raw) {
			if c, ok := jsonraw.HexByte(raw[offset+1:]); ok {
				return append(text, c), 3
			}
		}
	case '&':
		end := bytes.IndexByte(raw[offset:min(len(raw), offset+maxEntity)], ';')
		if end > 1 && (raw[offset+1] == '#' || isNameByte(raw[offset+1])) {
			if name := string(raw[offset : offset+end+1]); html.UnescapeString(name) != name { // a known entity
				return append(text, html.UnescapeString(name)...), end + 1
			}
		}
	case '\r', '\n':
		end := offset
		for end < len(raw) && classes[raw[end]]&space != 0 {
			end++
		}
		if end < len(raw) && base64Values[raw[end]] < 64 && isWrapped(text) {
			return text, end - offset
		}
	}
	return text, 0
}

// isWrapped reports whether the last wrappedLine bytes of text are all base64 characters.
func isWrapped(text []byte) bool {
	if len(text) < wrappedLine {
		return false
	}
	for i := len(text) - 1; i >= len(text)-wrappedLine; i-- {
		if base64Values[text[i]] == noDigit {
			return false
		}
	}
	return true
}

// stringEscapes maps the character after a backslash to its meaning in a string of JSON or of a
// programming language.
var stringEscapes = [256]byte{
	'"':  '"',
	'\\': '\\',
	'/':  '/',
	'\'': '\'',
	'b':  '\b',
	'f':  '\f',
	'n':  '\n',
	'r':  '\r',
	't':  '\t',
}

// appendUnescapedString decodes the backslash escape at the beginning of raw and appends the result
// to text. size is the length of the escape in bytes, or 0 if raw does not begin with an escape.
func appendUnescapedString(text, raw []byte) (_ []byte, size int) {
	if len(raw) < 2 {
		return text, 0
	}
	if c := stringEscapes[raw[1]]; c != 0 {
		return append(text, c), 2
	}
	switch {
	case raw[1] == 'x' && len(raw) >= 4: // \x41
		if c, ok := jsonraw.HexByte(raw[2:]); ok {
			return append(text, c), 4
		}
	case raw[1] == 'u' && len(raw) > 2 && raw[2] == '{': // \u{41}
		return appendCodePoint(text, raw)
	case '0' <= raw[1] && raw[1] <= '3' && len(raw) >= 4 && isOctal(raw[2]) && isOctal(raw[3]): // \101
		return append(text, (raw[1]-'0')<<6|(raw[2]-'0')<<3|(raw[3]-'0')), 4
	case raw[1] == 'u': // \u0041
		if r, size := jsonraw.EscapedCharacter(raw); size > 0 {
			return utf8.AppendRune(text, r), size
		}
	}
	return text, 0
}

// maxCodePointDigits is the number of digits of \u{10FFFF}.
const maxCodePointDigits = 6

// appendCodePoint decodes the escape \u{…} at the beginning of raw and appends its character to
// text. size is the length of the escape in bytes, or 0 if it is invalid.
func appendCodePoint(text, raw []byte) (_ []byte, size int) {
	r := rune(0)
	for i := len(`\u{`); i < len(raw) && i <= len(`\u{`)+maxCodePointDigits; i++ {
		digit := hexValues[raw[i]]
		if raw[i] == '}' && i > len(`\u{`) {
			return utf8.AppendRune(text, r), i + 1
		}
		if digit == noDigit {
			return text, 0
		}
		r = r<<4 | rune(digit)
	}
	return text, 0
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// hasEscapes reports whether raw has escapes that may hide a known value. The common escapes of
// JSON, quotes and line ends, count only if a known value has these characters. Decoding every text
// with such escapes would take several times as long.
func (k *valueIndex) hasEscapes(raw []byte) bool {
	for i := 0; ; i++ {
		next := bytes.IndexByte(raw[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		from := i
		for i < len(raw) && raw[i] == '\\' {
			i++
		}
		if i == len(raw) {
			break
		}
		c := raw[i]
		switch {
		case c == 'u' && i+1 < len(raw) && raw[i+1] == '{',
			'0' <= c && c <= '3' && i+2 < len(raw) && isOctal(raw[i+1]) && isOctal(raw[i+2]):
			return true // \u{…} and \ooo are not of JSON, and so rare that they may always be decoded
		case c == 'u':
			if r, ok := jsonraw.EscapedRune(raw[i-1:]); ok && (r < utf8.RuneSelf || k.hasNonASCII) {
				return true
			}
		case c == '/' || c == 'x':
			return true
		case k.letters['\\'] && i-from > 1: // an escaped backslash
			return true
		case stringEscapes[c] != 0 && k.letters[stringEscapes[c]]:
			return true
		case (c == 'n' || c == 'r') && isWrapped(raw[:from]): // a line end in base64
			return true
		}
	}
	return k.hasEscape(raw, '%') || k.hasEscape(raw, '&') || k.hasEscape(raw, '\n') || k.hasEscape(raw, '\r')
}

// hasEscape reports whether raw has an escape that begins with c and that appendUnescaped can decode.
func (k *valueIndex) hasEscape(raw []byte, c byte) bool {
	var room [16]byte // avoids an allocation for each escape
	for i := 0; ; i++ {
		next := bytes.IndexByte(raw[i:], c)
		if next < 0 {
			return false
		}
		i += next
		before := room[:0]
		if c == '\n' || c == '\r' {
			before = raw[max(0, i-wrappedLine):i:i] // the line that may continue; its capacity protects raw
		}
		if _, size := appendUnescaped(before, raw, i); size > 0 {
			return true
		}
	}
}
