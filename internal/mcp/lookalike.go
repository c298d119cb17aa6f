package mcp

import (
	"fmt"
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Letters of other scripts, and marks, that look like those of ASCII; the second string
// of a pair has what each of the first one is taken for (Unicode TR 39, of which these are
// the ones that names are made of).
var lookalikes = [][2]string{
	{"аеорсухѕіјԁһӏԛԝѵүгьАВЕКМНОРСТУХЅІЈԌԚԜ", "aeopcyxsijdhlqwvyrbABEKMHOPCTYXSIJGQW"},
	{"αοοντυικγρσϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "aoovtuikypocjABEZHIKMNOPTYXC"},
	{"օոսհցզԍ", "onuhgqG"},
	{"ıɑɡℓ‐‑‒–—−﹣․∕⁄＿", "iagl-------.//_"},
}

// spelled is what a letter is taken for, or itself.
func asciiOf(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // as wide as a Chinese character
		return r - 0xFEE0
	}
	for _, pair := range lookalikes {
		if at := strings.IndexRune(pair[0], r); at >= 0 {
			return rune(pair[1][utf8.RuneCountInString(pair[0][:at])])
		}
	}
	return r
}

// legible returns a name as a reader sees it: characters that look like ASCII ones
// become those, and invisible characters (Unicode class Cf) are dropped.
func foldToASCII(name string) string {
	if jsonraw.IsASCII(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return asciiOf(r)
	}, name)
}

// appendAlike appends a name to b, and makes one of what is one in many typefaces.
func appendLook(b []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '1' || c == 'I' || c == '|':
			b = append(b, 'l')
		case c == '0':
			b = append(b, 'O')
		case c == 'r' && i+1 < len(name) && name[i+1] == 'n':
			b = append(b, 'm')
			i++
		default:
			b = append(b, c)
		}
	}
	return b
}

var seed = maphash.MakeSeed()

// Lookalikes says of each of the names in a list what it may be taken for: a name, or ""
// for nearly all.
func Lookalikes(names []string) []string {
	// The first name of each look, or the first one of ASCII. Names are many, and looks are not
	// kept: their hashes are.
	seen := make(map[uint64]int32, len(names))
	looks := make([]uint64, len(names))
	var look []byte
	for i, name := range names {
		look = appendLook(look[:0], foldToASCII(name))
		looks[i] = maphash.Bytes(seed, look)
		if first, there := seen[looks[i]]; !there || jsonraw.IsASCII(name) && !jsonraw.IsASCII(names[first]) {
			seen[looks[i]] = int32(i)
		}
	}
	like := make([]string, len(names))
	for i, name := range names {
		other := names[seen[looks[i]]]
		if other == name && jsonraw.IsASCII(name) {
			continue
		}
		switch plain := foldToASCII(name); {
		case plain != name && jsonraw.IsASCII(plain):
			like[i] = plain
		case other != name && string(appendLook(nil, foldToASCII(other))) == string(appendLook(nil, plain)):
			like[i] = other
		}
	}
	return like
}

// MixedScripts reports a name with letters of several of the alphabets that look alike.
func MixedScripts(name string) bool {
	if jsonraw.IsASCII(name) {
		return false
	}
	scripts := 0
	for _, script := range []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian} {
		if strings.IndexFunc(name, func(r rune) bool { return unicode.Is(script, r) }) >= 0 {
			scripts++
		}
	}
	return scripts > 1
}

// Confusable tells of names of a kind of things that may be taken for another.
func Confusable(kind string, names []string) (found []wire.Finding) {
	for i, like := range Lookalikes(names) {
		name := names[i]
		var text string
		switch {
		case like != "" && !jsonraw.IsASCII(name):
			text = fmt.Sprintf("the %s %q looks like %q but differs: it has %s", kind, name, like, nonASCII(name))
		case like != "":
			text = fmt.Sprintf("the %s %q looks like %q but differs", kind, name, like)
		case MixedScripts(name):
			text = fmt.Sprintf("the name of the %s %q mixes alphabets: it has %s", kind, name, nonASCII(name))
		default:
			continue
		}
		found = append(found, wire.Finding{Rule: "confusable_name", Level: wire.Warning, Text: text})
	}
	return found
}

// foreign names the letters of a name that are not of ASCII.
func nonASCII(name string) string {
	var all []string
	for _, r := range name {
		if text := fmt.Sprintf("U+%04X", r); r >= utf8.RuneSelf && !strings.Contains(strings.Join(all, " "), text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
