// Package hidden compares texts with the placeholders of secrets that package redact puts
// in their place: by the hash of the secret, or by its length.
package hidden

import (
	"net/url"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

// mostMarks is how many placeholders of secrets one text may have that is compared by them.
const mostMarks = 100

// A mark is what a placeholder tells of its secret: the length in bytes and the beginning
// of the hash.
type mark struct {
	length int
	hash   string
}

// markOf reads what redact.HiddenIn found: the length follows "len" and one character, and
// the hash ends before the closing bracket, which is escaped in old URLs.
func markOf(text string) mark {
	_, digits, _ := strings.Cut(text, "len")
	digits = digits[1:]
	length, _ := strconv.Atoi(digits[:strings.IndexAny(digits, ",%")])
	hash := strings.TrimSuffix(strings.TrimSuffix(text, ")"), "%29")
	return mark{length, hash[len(hash)-4:]}
}

// A Fit says how two values are the same of which one has placeholders.
type Fit int

// The fits, the surer one is larger.
const (
	None Fit = iota
	ByLength
	ByHash
)

// fitHidden compares a text with one that has placeholders, either of which may be the
// recorded one. The text between the placeholders must be equal. With lengthOnly a
// secret of the same length will do: the present secrets are known to be others.
func fitHidden(hidden, text string, lengthOnly bool) Fit {
	places := redact.HiddenIn(hidden)
	if len(places) == 0 || len(places) > mostMarks {
		return None
	}
	begin := hidden[:places[0][0]]
	if !strings.HasPrefix(text, begin) {
		return None
	}
	marks := map[int]int{} // where placeholders of the other text begin and end
	for _, place := range redact.HiddenIn(text) {
		marks[place[0]] = place[1]
	}
	at, worst := len(begin), ByHash
	for i, place := range places {
		end := len(hidden)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		m, after := markOf(hidden[place[0]:place[1]]), hidden[place[1]:end]
		length := m.lengthIn(text[at:], marks[at]-at, after, i+1 == len(places))
		if length < 0 {
			return None
		}
		worst = min(worst, m.fits(text[at:at+length], lengthOnly))
		at += length + len(after)
	}
	return worst
}

// lengthIn is how long the secret is with which a text begins, -1 where what follows it is
// not there: a placeholder of its own is hidden bytes long, a secret that is escaped longer
// than the mark says.
func (m mark) lengthIn(text string, hidden int, after string, last bool) int {
	switch {
	case last && strings.HasSuffix(text, after):
		return len(text) - len(after)
	case last:
		return -1
	case hidden > 0 && strings.HasPrefix(text[hidden:], after):
		return hidden
	case m.length <= len(text) && strings.HasPrefix(text[m.length:], after):
		return m.length
	case after == "":
		return -1
	}
	return strings.Index(text, after)
}

// fits compares a placeholder with a text, in each of the spellings that it may have been
// taken from: in JSON within a JSON string, and in a URL.
func (m mark) fits(text string, lengthOnly bool) Fit {
	if places := redact.HiddenIn(text); len(places) == 1 && places[0][0] == 0 && places[0][1] == len(text) {
		return m.like(markOf(text), lengthOnly)
	}
	spellings := []string{text}
	add := func(spelling string, ok bool) {
		if ok && spelling != text {
			spellings = append(spellings, spelling)
		}
	}
	once, ok := jsonraw.Text([]byte(`"` + text + `"`))
	add(once, ok)
	twice, ok := jsonraw.Text([]byte(`"` + once + `"`))
	add(twice, ok)
	for _, unescape := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
		plain, err := unescape(text)
		add(plain, err == nil)
	}
	best := None
	for _, spelling := range spellings {
		best = max(best, m.like(markOf(redact.Redacted(spelling)), lengthOnly))
	}
	return best
}

func (m mark) like(other mark, lengthOnly bool) Fit {
	switch {
	case m == other:
		return ByHash
	case m.length == other.length && lengthOnly:
		return ByLength
	}
	return None
}

// hiddenText is the text that a placeholder may be compared with: a number is hidden as a
// string, by its own spelling.
func hiddenText(n *jsonvalue.Node) string {
	if n.Kind == jsonvalue.Number {
		return string(n.Raw)
	}
	return n.Text
}

// Comparable reports two values that a placeholder in one of them can be compared by.
func Comparable(was, is *jsonvalue.Node) bool {
	text := func(n *jsonvalue.Node) bool { return n.Kind == jsonvalue.String || n.Kind == jsonvalue.Number }
	return (was.Hidden || is.Hidden) && text(was) && text(is)
}

// Compare compares two values of which one has a placeholder of a secret.
func Compare(was, is *jsonvalue.Node, lengthOnly bool) Fit {
	best := None
	if !Comparable(was, is) {
		return best
	}
	if was.Hidden {
		best = fitHidden(was.Text, hiddenText(is), lengthOnly)
	}
	if is.Hidden {
		best = max(best, fitHidden(is.Text, hiddenText(was), lengthOnly))
	}
	return best
}
