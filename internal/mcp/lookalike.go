package mcp

import (
	"fmt"
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
func spelled(r rune) rune {
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
func legible(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return r
		}
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return spelled(r)
	}, name)
}

// alike makes one of what is one in many typefaces.
var alike = strings.NewReplacer("1", "l", "I", "l", "|", "l", "0", "O", "rn", "m")

// Lookalikes says of each of the names in a list what it may be taken for: a name, or ""
// for nearly all.
func Lookalikes(names []string) []string {
	seen := map[string]string{}
	for _, name := range names {
		if key := alike.Replace(legible(name)); seen[key] == "" || jsonraw.IsASCII(name) && !jsonraw.IsASCII(seen[key]) {
			seen[key] = name
		}
	}
	like := make([]string, len(names))
	for i, name := range names {
		plain := legible(name)
		other := seen[alike.Replace(plain)]
		switch {
		case plain != name && jsonraw.IsASCII(plain):
			like[i] = plain
		case other != name:
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
			text = fmt.Sprintf("the %s %q looks like %q but differs: it has %s", kind, name, like, foreign(name))
		case like != "":
			text = fmt.Sprintf("the %s %q looks like %q but differs", kind, name, like)
		case MixedScripts(name):
			text = fmt.Sprintf("the name of the %s %q mixes alphabets: it has %s", kind, name, foreign(name))
		default:
			continue
		}
		found = append(found, wire.Finding{Rule: "confusable_name", Level: wire.Warning, Text: text})
	}
	return found
}

// foreign names the letters of a name that are not of ASCII.
func foreign(name string) string {
	var all []string
	for _, r := range name {
		if text := fmt.Sprintf("U+%04X", r); r >= utf8.RuneSelf && !strings.Contains(strings.Join(all, " "), text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}
