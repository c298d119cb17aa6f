package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A needle is a text that is looked for in any case.
type needle struct {
	text string
	// forms are what the text may look like, in small letters: as it is, and as
	// a JSON string spells it.
	forms [][]byte
	// ascii is set where a byte is a character, and letters are compared one by one.
	ascii bool
}

func newNeedle(text string) needle {
	n := needle{text: text, ascii: true}
	lower := strings.ToLower(text)
	n.forms = [][]byte{[]byte(lower)}
	if spelled, err := json.Marshal(lower); err == nil {
		if spelled = spelled[1 : len(spelled)-1]; string(spelled) != lower {
			n.forms = append(n.forms, spelled)
		}
	}
	for i := range len(lower) {
		n.ascii = n.ascii && lower[i] < utf8.RuneSelf
	}
	return n
}

// in reports whether b holds the text.
func (n needle) in(b []byte) bool {
	if !n.ascii {
		b = bytes.ToLower(b)
	}
	for _, form := range n.forms {
		if n.ascii && foldedIndex(b, form) || !n.ascii && bytes.Contains(b, form) {
			return true
		}
	}
	return false
}

// foldedIndex reports whether b holds lower, whose letters are small ASCII ones,
// in any case. It jumps from one possible place to the next, so that a gigabyte
// takes a second and not ten.
func foldedIndex(b, lower []byte) bool {
	at := rarest(lower)
	small, large := lower[at], upper(lower[at])
	for from := at; len(b)-from >= len(lower)-at; {
		rest := b[from : len(b)-(len(lower)-at)+1]
		i := bytes.IndexByte(rest, small)
		if large != small {
			if i >= 0 {
				rest = rest[:i]
			}
			if j := bytes.IndexByte(rest, large); j >= 0 {
				i = j
			}
		}
		if i < 0 {
			return false
		}
		if start := from + i - at; sameFolded(b[start:start+len(lower)], lower) {
			return true
		}
		from += i + 1
	}
	return false
}

// rarest gives the index of the character that JSON and names have least of.
func rarest(lower []byte) int {
	const often = `etaoinsrhl"dcumfp,:gw{}0y12_b.3/456789[]vk-`
	best, rank := 0, -1
	for i, c := range lower {
		r := strings.IndexByte(often, c)
		if r < 0 {
			r = len(often)
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func sameFolded(b, lower []byte) bool {
	for i, c := range lower {
		if b[i] != c && b[i] != upper(c) {
			return false
		}
	}
	return true
}

// matchGlob reports whether text is what glob describes, in any case: * stands
// for any characters, ? for one.
func matchGlob(glob, text string) bool {
	g, t := []rune(strings.ToLower(glob)), []rune(strings.ToLower(text))
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(g) && g[i] == '*':
			star, mark = i, j
			i++
		case i < len(g) && (g[i] == '?' || g[i] == t[j]):
			i++
			j++
		case star >= 0: // the last star takes one character more
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(g) && g[i] == '*' {
		i++
	}
	return i == len(g)
}
