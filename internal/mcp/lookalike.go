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

// lookalikes are pairs of strings: each letter or mark of the first looks like the ASCII character
// at the same position in the second. They are the part of Unicode TR 39 that matters in names.
var lookalikes = [][2]string{
	{"аеорсухѕіјԁһӏԛԝѵүгьАВЕКМНОРСТУХЅІЈԌԚԜ", "aeopcyxsijdhlqwvyrbABEKMHOPCTYXSIJGQW"},
	{"αοοντυικγρσϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "aoovtuikypocjABEZHIKMNOPTYXC"},
	{"օոսհցզԍ", "onuhgqG"},
	{"ıɑɡℓ‐‑‒–—−﹣․∕⁄＿", "iagl-------.//_"},
}

// asciiOf returns the ASCII character that r looks like, or r.
func asciiOf(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // fullwidth forms of ASCII
		return r - 0xFEE0
	}
	for _, pair := range lookalikes {
		if offset := strings.IndexRune(pair[0], r); offset >= 0 {
			position := utf8.RuneCountInString(pair[0][:offset])
			return rune(pair[1][position])
		}
	}
	return r
}

// foldToASCII returns a name as a reader sees it: characters that look like ASCII become ASCII, and
// invisible characters (Unicode class Cf) are dropped.
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

// appendSkeleton appends the look of a name to b: characters that are alike in many typefaces become
// the same.
func appendSkeleton(b []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
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

// seed is the seed of all hashes of looks.
var seed = maphash.MakeSeed()

// Lookalikes returns for each name the name that it looks like: its spelling in ASCII, which may be
// no name of the list, or another name of the list. Most names have "".
func Lookalikes(names []string) []string {
	// original has by hash the index of the name that names with this look imitate: the first ASCII
	// name, else the first. There may be many names: only the hashes of their looks are kept.
	original := make(map[uint64]int32, len(names))
	hashes := make([]uint64, len(names))
	var look []byte
	for i, name := range names {
		look = appendSkeleton(look[:0], foldToASCII(name))
		hashes[i] = maphash.Bytes(seed, look)
		first, isSeen := original[hashes[i]]
		isBetter := isSeen && jsonraw.IsASCII(name) && !jsonraw.IsASCII(names[first])
		if !isSeen || isBetter {
			original[hashes[i]] = int32(i)
		}
	}
	alike := make([]string, len(names))
	for i, name := range names {
		other := names[original[hashes[i]]]
		if other == name && jsonraw.IsASCII(name) {
			continue
		}
		folded := foldToASCII(name)
		if folded != name && jsonraw.IsASCII(folded) { // it imitates ASCII, also if no other name has this look
			alike[i] = folded
			continue
		}
		// Different looks may have the same hash.
		isAlike := string(appendSkeleton(nil, foldToASCII(other))) == string(appendSkeleton(nil, folded))
		if other != name && isAlike {
			alike[i] = other
		}
	}
	return alike
}

// MixedScripts reports whether a name has letters from several alphabets that look alike.
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

// Confusable returns findings about names that look like another name. kind is the kind of thing
// that they name: "tool".
func Confusable(kind string, names []string) []wire.Finding {
	var found []wire.Finding
	for i, like := range Lookalikes(names) {
		name := names[i]
		var text string
		switch {
		case like != "" && !jsonraw.IsASCII(name):
			text = fmt.Sprintf("the %s %q looks like %q but differs: it has %s", kind, name, like, listNonASCII(name))
		case like != "":
			text = fmt.Sprintf("the %s %q looks like %q but differs", kind, name, like)
		case MixedScripts(name):
			text = fmt.Sprintf("the name of the %s %q mixes alphabets: it has %s", kind, name, listNonASCII(name))
		default:
			continue
		}
		found = append(found, wire.Finding{Rule: "confusable_name", Severity: wire.Warning, Text: text})
	}
	return found
}

// listNonASCII lists the characters of a name that are not ASCII.
func listNonASCII(name string) string {
	var codes []string
	for _, r := range name {
		if r < utf8.RuneSelf {
			continue
		}
		if code := fmt.Sprintf("U+%04X", r); !strings.Contains(strings.Join(codes, " "), code) {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ", ")
}
