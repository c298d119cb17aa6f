package redact

import (
	"bytes"
	"html"
	"sort"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
)

// A decodedView is a text as it reads when one level of escapes is undone: those of a JSON
// string, of a URL and a form, of HTML, and line ends in base64. All of them are undone
// at once, because what is compared with a view was treated in the same way.
type decodedView struct {
	text []byte
	raw  []byte
	// marks say for some places of the text where in raw they come from.
	marks []viewMark
}

type viewMark struct{ at, from int }

const (
	// mostLevels is how many levels of escapes are undone: a message in a message in a
	// form in a line of a capture has four, wrapped base64 two by itself.
	mostLevels = 6
	// markEvery is how many bytes of a view lie between two marks.
	markEvery = 512
	// longestEntity is how long the name of a character is in HTML, wrappedLine how long
	// a line of base64 is at least that is a part of more.
	longestEntity = 33
	wrappedLine   = 60
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
		text, size := undone(v.text, raw, i)
		done = i + size
		if size == 0 {
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

// copy appends raw[from:to], which needs no decoding, with marks.
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

// origin returns the range of raw from which text[from:to] was decoded.
func (v *decodedView) origin(from, to int) (rawFrom, rawTo int) {
	next := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > from })
	var m viewMark
	if next > 0 {
		m = v.marks[next-1]
	}
	rawFrom = -1
	// What was undone can depend on what stands before it in the text.
	text := append([]byte(nil), v.text[max(0, m.at-wrappedLine):m.at]...)
	skipped := m.at - len(text)
	for i := m.from; i < len(v.raw); {
		at := skipped + len(text)
		if at >= to && rawFrom >= 0 {
			return rawFrom, i
		}
		size := 0
		if classes[v.raw[i]]&escape != 0 {
			text, size = undone(text, v.raw, i)
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
	return max(rawFrom, 0), len(v.raw)
}

// undone appends to text what the escape at a place of raw stands for; size is how long
// the escape is, 0 where there is none.
func undone(text, raw []byte, at int) (_ []byte, size int) {
	switch raw[at] {
	case '\\':
		return undoneInString(text, raw[at:])
	case '%':
		if at+2 < len(raw) {
			if c, ok := jsonraw.HexByte(raw[at+1:]); ok {
				return append(text, c), 3
			}
		}
	case '&':
		end := bytes.IndexByte(raw[at:min(len(raw), at+longestEntity)], ';')
		if end > 1 && (raw[at+1] == '#' || isNameByte(raw[at+1])) {
			if name := string(raw[at : at+end+1]); html.UnescapeString(name) != name {
				return append(text, html.UnescapeString(name)...), end + 1
			}
		}
	case '\r', '\n':
		end := at
		for end < len(raw) && classes[raw[end]]&space != 0 {
			end++
		}
		if end < len(raw) && base64Values[raw[end]] < 64 && isWrapped(text) {
			return text, end - at
		}
	}
	return text, 0
}

// isWrapped reports whether a text ends with a line of base64.
func isWrapped(text []byte) bool {
	if len(text) < wrappedLine {
		return false
	}
	for i := len(text) - 1; i >= len(text)-wrappedLine; i-- {
		if base64Values[text[i]] == 255 {
			return false
		}
	}
	return true
}

// stringEscapes are the characters behind a backslash, and what they stand for in a
// string of JSON or of a programming language.
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

func undoneInString(text, raw []byte) (_ []byte, size int) {
	if len(raw) < 2 {
		return text, 0
	}
	if c := stringEscapes[raw[1]]; c != 0 {
		return append(text, c), 2
	}
	switch {
	case raw[1] == 'x' && len(raw) >= 4:
		if c, ok := jsonraw.HexByte(raw[2:]); ok {
			return append(text, c), 4
		}
	case raw[1] == 'u' && len(raw) > 2 && raw[2] == '{':
		return undoneCodePoint(text, raw)
	case '0' <= raw[1] && raw[1] <= '3' && len(raw) >= 4 && isOctal(raw[2]) && isOctal(raw[3]):
		return append(text, (raw[1]-'0')<<6|(raw[2]-'0')<<3|(raw[3]-'0')), 4
	case raw[1] == 'u':
		if r, size := jsonraw.EscapedCharacter(raw); size > 0 {
			return utf8.AppendRune(text, r), size
		}
	}
	return text, 0
}

// longestCodePoint is how many digits \u{10FFFF} has.
const longestCodePoint = 6

// undoneCodePoint appends the character of an escape \u{61}.
func undoneCodePoint(text, raw []byte) (_ []byte, size int) {
	r := rune(0)
	for i := len(`\u{`); i < len(raw) && i <= len(`\u{`)+longestCodePoint; i++ {
		digit := hexValues[raw[i]]
		if raw[i] == '}' && i > len(`\u{`) {
			return utf8.AppendRune(text, r), i + 1
		}
		if digit == 255 {
			return text, 0
		}
		r = r<<4 | rune(digit)
	}
	return text, 0
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

// isEscaped reports that a text has escapes that may hide a secret. The quotes and line
// ends of a text within JSON do not, unless such characters stand in a known value: of
// those there are many, and looking at what they stand for costs a multiple.
func (k *known) isEscaped(raw []byte) bool {
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
			return true
		case c == 'u':
			if r, ok := jsonraw.EscapedRune(raw[i-1:]); ok && (r < utf8.RuneSelf || k.wide) {
				return true
			}
		case c == '/' || c == 'x' || k.letters['\\'] && i-from > 1:
			return true
		case stringEscapes[c] != 0 && k.letters[stringEscapes[c]], (c == 'n' || c == 'r') && isWrapped(raw[:from]):
			return true
		}
	}
	return k.isCoded(raw, '%') || k.isCoded(raw, '&') || k.isCoded(raw, '\n') || k.isCoded(raw, '\r')
}

// isCoded reports whether an escape that begins with c may hide a secret.
func (k *known) isCoded(raw []byte, c byte) bool {
	var room [16]byte
	for i := 0; ; i++ {
		next := bytes.IndexByte(raw[i:], c)
		if next < 0 {
			return false
		}
		i += next
		before := room[:0]
		if c == '\n' || c == '\r' {
			before = raw[max(0, i-wrappedLine):i:i]
		}
		if _, size := undone(before, raw, i); size > 0 {
			return true
		}
	}
}
