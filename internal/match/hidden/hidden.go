// Package hidden compares texts with the placeholders that package redact puts in the place of
// secrets: by the hash of the secret, or by its length.
package hidden

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

// maxMarks bounds the placeholders of a text that fitHidden compares.
const maxMarks = 100

// A mark is the content of a placeholder: the length of the secret in bytes, and the first digits of
// its hash.
type mark struct {
	length int
	hash   string
}

// unknownLength is the length of a mark that does not show one.
const unknownLength = -1

// parseMark parses a placeholder that redact.HiddenIn found. The length follows "len" and one
// character. The hash ends before the closing bracket, which is escaped in old URLs.
func parseMark(text string) mark {
	if !strings.Contains(text, "sha256") { // a placeholder for the user information of a URL
		return mark{length: unknownLength}
	}
	_, digits, _ := strings.Cut(text, "len")
	digits = digits[1:]
	length, _ := strconv.Atoi(digits[:strings.IndexAny(digits, ",%")])
	hash := strings.TrimSuffix(strings.TrimSuffix(text, ")"), "%29")
	return mark{length, hash[len(hash)-4:]}
}

// A Fit is the evidence that two values are equal if either has placeholders.
type Fit int

// The fits, the weakest first. ByPlace accepts any text in the place of a secret.
const (
	None Fit = iota
	ByPlace
	ByLength
	ByHash
)

// fitHidden compares a text with a text that has placeholders, and returns the weakest fit of the
// placeholders. The text between the placeholders must be equal.
func fitHidden(hidden, text string) Fit {
	places := redact.HiddenPartsIn(hidden)
	if len(places) == 0 || len(places) > maxMarks {
		return None
	}
	begin := hidden[:places[0][0]]
	if !strings.HasPrefix(text, begin) {
		return None
	}
	marks := map[int]int{} // the end of each placeholder in text, by its beginning
	for _, place := range redact.HiddenPartsIn(text) {
		marks[place[0]] = place[1]
	}
	offset := len(begin)
	worst := ByHash
	for i, place := range places {
		end := len(hidden)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		m := parseMark(hidden[place[0]:place[1]])
		after := hidden[place[1]:end]
		// Without a placeholder at offset, marks has 0 and the second argument is not positive.
		length := m.secretLength(text[offset:], marks[offset]-offset, after, i+1 == len(places))
		if length < 0 {
			return None
		}
		worst = min(worst, m.compareText(text[offset:offset+length]))
		offset += length + len(after)
	}
	return worst
}

// secretLength returns the length of the secret at the beginning of text, or -1 if after does not
// follow it. hidden is the length of a placeholder at the beginning of text, if it is positive.
// isLast is set for the last placeholder: after must then be the end of text.
func (m mark) secretLength(text string, hidden int, after string, isLast bool) int {
	if isLast {
		if !strings.HasSuffix(text, after) {
			return -1
		}
		return len(text) - len(after)
	}
	if hidden > 0 && strings.HasPrefix(text[hidden:], after) {
		return hidden
	}
	if m.length >= 0 && m.length <= len(text) && strings.HasPrefix(text[m.length:], after) {
		return m.length
	}
	if after == "" { // nothing shows where the secret ends
		return -1
	}
	return strings.Index(text, after) // an escaped secret is longer than m.length
}

// compareText compares a placeholder with a text, and with the text after decoding the escapes of a
// JSON string or of a URL. It returns the best fit, which is at least ByPlace.
func (m mark) compareText(text string) Fit {
	if places := redact.HiddenIn(text); len(places) == 1 && places[0][0] == 0 && places[0][1] == len(text) {
		return m.compare(parseMark(text)) // text is a placeholder, too
	}
	spellings := []string{text}
	add := func(spelling string, ok bool) {
		if ok && spelling != text {
			spellings = append(spellings, spelling)
		}
	}
	once, ok := jsonraw.Text([]byte(`"` + text + `"`))
	add(once, ok)
	twice, ok := jsonraw.Text([]byte(`"` + once + `"`)) // JSON in a string of JSON is escaped twice
	add(twice, ok)
	for _, unescape := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		plain, err := unescape(text)
		add(plain, err == nil)
	}
	best := ByPlace
	for _, spelling := range spellings {
		best = max(best, m.compare(parseMark(redact.Redacted(spelling))))
	}
	return best
}

// compare compares two placeholders.
func (m mark) compare(other mark) Fit {
	if m == other {
		return ByHash
	}
	if m.length == other.length {
		return ByLength
	}
	return ByPlace
}

// hiddenText returns the text to compare with a placeholder. A placeholder for a number has the
// hash of the number's notation.
func hiddenText(n *jsonvalue.Node) string {
	if n.Kind == jsonvalue.Number {
		return string(n.Raw)
	}
	return n.Text
}

// Comparable reports whether two values can be compared by a placeholder in either.
func Comparable(recorded, current *jsonvalue.Node) bool {
	hasText := func(n *jsonvalue.Node) bool { return n.Kind == jsonvalue.String || n.Kind == jsonvalue.Number }
	return (recorded.Hidden || current.Hidden) && hasText(recorded) && hasText(current)
}

// Compare compares two values by their placeholders. It returns None if neither value has a
// placeholder.
func Compare(recorded, current *jsonvalue.Node) Fit {
	best := None
	if !Comparable(recorded, current) {
		return best
	}
	if recorded.Hidden {
		best = fitHidden(recorded.Text, hiddenText(current))
	}
	if current.Hidden {
		best = max(best, fitHidden(current.Text, hiddenText(recorded)))
	}
	return best
}

// Names returns the members of two objects, sorted by name. If a name has placeholders, the member
// of the other object that fits gets the same name.
func Names(recorded, current []*jsonvalue.Node) (_, _ []*jsonvalue.Node) {
	rename := func(all, others []*jsonvalue.Node) []*jsonvalue.Node {
		renamed := all
		for _, other := range others {
			if !redact.HasHiddenParts(other.Name) || hasName(all, other.Name) {
				continue // all has a member with the same placeholder already
			}
			for i, n := range renamed {
				if hasName(others, n.Name) || fitHidden(other.Name, n.Name) == None {
					continue
				}
				if &renamed[0] == &all[0] { // the first change: all belongs to the caller
					renamed = slices.Clone(all)
				}
				renamedNode := *n
				renamedNode.Name = other.Name
				renamed[i] = &renamedNode
				break
			}
		}
		if len(all) > 0 && &renamed[0] != &all[0] { // new names have new places in the order
			slices.SortStableFunc(renamed, func(a, b *jsonvalue.Node) int { return jsonvalue.CompareNames(a.Name, b.Name) })
		}
		return renamed
	}
	current = rename(current, recorded)
	return rename(recorded, current), current
}

// hasName reports whether a member has a name.
func hasName(all []*jsonvalue.Node, name string) bool {
	return slices.ContainsFunc(all, func(n *jsonvalue.Node) bool { return n.Name == name })
}
