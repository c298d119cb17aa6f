package filter

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/capture"
	"mcpc/internal/jsonraw"
)

// A needle is a text that is searched for in upper or lower case.
type needle struct {
	text string
	// forms are the text itself and its JSON spelling.
	forms []form
	// lines are the spellings of the forms in a line of a capture, which is JSON again.
	lines []form
}

// A form is a text in lower and in upper case, with the same length. A letter whose cases differ in
// length stays as it is.
type form struct {
	lower, upper []byte
	rareIndex    int // the byte that is searched for first
}

// newNeedle returns the needle for a text. A line of a capture contains a message as a JSON string,
// so a text in it may be escaped up to twice.
func newNeedle(text string) needle {
	texts := []string{text, jsonEscaped(text), jsonEscaped(jsonEscaped(text))}
	n := needle{text: text}
	for i, text := range texts {
		if i > 0 && text == texts[i-1] {
			break // nor does it change the next time
		}
		if i < 2 {
			n.forms = append(n.forms, newForm(text))
		}
		n.lines = append(n.lines, newForm(text))
	}
	return n
}

// jsonEscaped returns text as it is spelled inside a JSON string.
func jsonEscaped(text string) string {
	quoted := jsonraw.Quote(text)
	return string(quoted[1 : len(quoted)-1])
}

func (n needle) search() search { return search{matches: n.isIn, mayMatchLine: n.mayBeInLine} }

// mayBeInLine reports whether the bytes of the frame in a line can have the text. The line may spell it
// with other escapes or in base64.
func (n needle) mayBeInLine(line []byte) bool {
	return slices.ContainsFunc(n.lines, func(f form) bool { return f.isIn(line) }) || capture.HasOtherEscapes(line) ||
		strings.Contains(n.text, "/") && bytes.Contains(line, []byte(`\/`))
}

// newForm returns the form of a text, which may have invalid UTF-8.
func newForm(text string) form {
	var f form
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			size = 1 // an invalid byte, not the character U+FFFD
		}
		letter := text[i : i+size]
		lower := string(unicode.ToLower(r))
		upper := string(unicode.ToUpper(r))
		if len(lower) != size || len(upper) != size {
			lower = letter
			upper = letter
		}
		f.lower = append(f.lower, lower...)
		f.upper = append(f.upper, upper...)
	}
	f.rareIndex = rarestByte(f.lower)
	return f
}

// isIn reports whether b has the text.
func (n needle) isIn(b []byte) bool {
	return slices.ContainsFunc(n.forms, func(f form) bool { return f.isIn(b) })
}

// isIn reports whether b has the text. It searches for the rarest byte, so that a gigabyte takes a
// second and not ten.
func (f form) isIn(b []byte) bool {
	lower := f.lower[f.rareIndex]
	upper := f.upper[f.rareIndex]
	after := len(f.lower) - f.rareIndex
	for start := f.rareIndex; len(b)-start >= after; {
		candidates := b[start : len(b)-after+1]
		i := bytes.IndexByte(candidates, lower)
		if upper != lower {
			// Look for the other case only before the first one.
			if i >= 0 {
				candidates = candidates[:i]
			}
			if j := bytes.IndexByte(candidates, upper); j >= 0 {
				i = j
			}
		}
		if i < 0 {
			return false
		}
		if f.matchesStart(b[start+i-f.rareIndex:]) {
			return true
		}
		start += i + 1
	}
	return false
}

// matchesStart reports whether b, which has at least the length of the text, begins with it.
func (f form) matchesStart(b []byte) bool {
	for i, c := range f.lower {
		if b[i] != c && b[i] != f.upper[i] {
			return false
		}
	}
	// All bytes of a multi-byte character have to come from the same form.
	return bytes.EqualFold(b[:len(f.lower)], f.lower)
}

// rarestByte returns the index of the byte that is rarest in messages and names.
func rarestByte(text []byte) int {
	// The most frequent bytes come first; all others are rarer.
	const frequent = ` etaoinsrhl"dcumfp,:gw{}0y12_b.3/456789[]vk-`
	best := 0
	rank := -1
	for i, c := range text {
		r := strings.IndexByte(frequent, c)
		if r < 0 {
			r = len(frequent)
		}
		if r > rank {
			best = i
			rank = r
		}
	}
	return best
}

// MatchGlob reports whether text matches glob, in upper or lower case: * matches any characters, ?
// matches one.
func MatchGlob(glob, text string) bool {
	g := []rune(strings.ToLower(glob))
	t := []rune(strings.ToLower(text))
	star := -1 // the index in g of the last star so far; -1 before the first
	mark := 0  // the index in t at which the star's match ends
	i := 0     // in g
	j := 0     // in t
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			star = i
			mark = j
			i++
		case i < len(g) && (g[i] == '?' || g[i] == t[j]):
			i++
			j++
		case star >= 0: // the last star takes one character more
			mark++
			i = star + 1
			j = mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}
