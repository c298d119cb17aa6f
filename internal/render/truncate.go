package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
)

// An answer is cut where the caller takes only so many characters. A text ends
// earlier and says so. JSON stays one document of the same shape: long texts in it
// end with a mark, and where that is not enough lists end earlier; names, numbers and
// the members of objects are never touched.

// Truncation says how many characters of how many there are left, and what else is
// missing. Shown is Whole where nothing is.
type Truncation struct {
	Shown, Whole int
	// Texts is how many texts were cut, Lists are those that end earlier: "/tools has
	// 12 of 128 items".
	Texts int
	Lists []string
}

// Truncated reports whether anything is missing.
func (c Truncation) Truncated() bool { return c.Shown < c.Whole }

func (c Truncation) String() string {
	parts := slices.Clone(c.Lists[:min(len(c.Lists), 3)])
	if c.Texts > 0 {
		parts = append(parts, english.Plural(c.Texts, "text")+" cut")
	}
	text := fmt.Sprintf("cut to %d of %d characters", c.Shown, c.Whole)
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text
}

// cutMark ends a text that was cut, and maxMark is how many characters it has at
// most.
func cutMark(missing int) string { return fmt.Sprintf("… [cut, %d more characters]", missing) }

const maxMark = 40

// TruncateText is text with at most so many characters before its mark, which then stands
// on a line of its own.
func TruncateText(text string, most int) (string, Truncation) {
	whole := utf8.RuneCountInString(text)
	if whole <= most {
		return text, Truncation{Shown: whole, Whole: whole}
	}
	at := 0
	for range most {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return strings.TrimRight(text[:at], "\r\n") + "\n" + cutMark(whole-most) + "\n", Truncation{Shown: most, Whole: whole}
}

// ErrTooManyNames: JSON has so many names and numbers that no cut makes it fit.
var ErrTooManyNames = errors.New("it has too many member names and numbers")

// Texts are cut to no less than fairTextLength characters while there are lists to shorten,
// and never to less than minTextLength.
const (
	fairTextLength = 200
	minTextLength  = 20
)

// TruncateJSON makes one JSON document fit into so many characters.
func TruncateJSON(raw json.RawMessage, most int) (json.RawMessage, Truncation, error) {
	whole := utf8.RuneCount(raw)
	if whole <= most || jsonraw.Valid(raw) != nil {
		return raw, Truncation{Shown: whole, Whole: whole}, nil
	}
	root := parseNode(raw, "")
	root.shorten(most)
	limit := root.limit(most)
	if limit < minTextLength {
		return nil, Truncation{Whole: whole}, ErrTooManyNames
	}
	cut := Truncation{Whole: whole}
	var b bytes.Buffer
	root.write(&b, limit, &cut)
	cut.Shown = utf8.RuneCount(b.Bytes())
	return b.Bytes(), cut, nil
}

// valueNode is a value that may be written shorter.
type valueNode struct {
	// open is '{', '[', '"', or 0 for what cannot be cut.
	open byte
	// raw is the value where it has no parts, chars its characters.
	raw   []byte
	chars int
	at    string
	names [][]byte
	kids  []*valueNode
	kept  int // of kids
}

func parseNode(raw json.RawMessage, at string) *valueNode {
	if members, err := jsonraw.Object(raw); err == nil {
		n := &valueNode{open: '{', at: at, kept: len(members)}
		for _, m := range members {
			n.names = append(n.names, jsonraw.Quote(m.Name))
			n.kids = append(n.kids, parseNode(m.Value, at+"/"+m.Name))
		}
		return n
	}
	if items, err := jsonraw.Array(raw); err == nil {
		n := &valueNode{open: '[', at: at, kept: len(items)}
		for i, item := range items {
			n.kids = append(n.kids, parseNode(item, fmt.Sprintf("%s/%d", at, i)))
		}
		return n
	}
	n := &valueNode{raw: bytes.TrimSpace(raw)}
	n.chars = utf8.RuneCount(n.raw)
	if n.raw[0] == '"' {
		n.open = '"'
	}
	return n
}

// size is how many characters the value has with texts of at most limit.
func (n *valueNode) size(limit int) int {
	if n.open != '{' && n.open != '[' {
		if n.open == '"' {
			return min(n.chars, limit+maxMark+2)
		}
		return n.chars
	}
	size := 2 + max(0, n.kept-1)
	for i, kid := range n.kids[:n.kept] {
		size += kid.size(limit)
		if n.open == '{' {
			size += utf8.RuneCount(n.names[i]) + 1
		}
	}
	return size
}

// limit is the longest one for texts with which the value fits, or less than
// minTextLength where there is none.
func (n *valueNode) limit(most int) int {
	low := minTextLength - 1
	high := most
	for low < high {
		if middle := (low + high + 1) / 2; n.size(middle) <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// shorten leaves out items at the end of the largest lists until texts of a fair
// length have room. One item stays.
func (n *valueNode) shorten(most int) {
	for {
		over := n.size(fairTextLength) - most
		if over <= 0 {
			return
		}
		longest, _ := n.longest()
		if longest == nil {
			return
		}
		for over > 0 && longest.kept > 1 {
			longest.kept--
			over -= longest.kids[longest.kept].size(fairTextLength) + 1
		}
	}
}

// longest is the largest list of n that can be shortened, and its size; nil where there is
// none.
func (n *valueNode) longest() (found *valueNode, size int) {
	if n.open == '[' && n.kept > 1 {
		found = n
		size = n.size(fairTextLength)
	}
	for _, kid := range n.kids[:n.kept] {
		if list, s := kid.longest(); s > size {
			found = list
			size = s
		}
	}
	return found, size
}

func (n *valueNode) write(b *bytes.Buffer, limit int, cut *Truncation) {
	if n.open == '"' && n.chars > limit+maxMark+2 {
		head, missing := cutString(n.raw, limit)
		cut.Texts++
		b.Write(head)
		b.WriteString(cutMark(missing) + `"`)
		return
	}
	if n.open != '{' && n.open != '[' {
		b.Write(n.raw)
		return
	}
	b.WriteByte(n.open)
	for i, kid := range n.kids[:n.kept] {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.open == '{' {
			b.Write(n.names[i])
			b.WriteByte(':')
		}
		kid.write(b, limit, cut)
	}
	b.WriteByte(n.open + 2) // ] and } stand two behind [ and {
	if n.kept < len(n.kids) {
		cut.Lists = append(cut.Lists, fmt.Sprintf("%s has %d of %d items", cmp.Or(n.at, "the list"), n.kept, len(n.kids)))
	}
}

// headOf is the begin of a string of JSON, its quote included, with at most limit
// characters as they are written, and how many of its own are missing. No escape and
// no pair of escapes is torn.
func cutString(raw []byte, limit int) (head []byte, missing int) {
	at := 1
	for used := 0; at < len(raw)-1; {
		length := characterLength(raw[at:])
		used += utf8.RuneCount(raw[at : at+length])
		if used > limit {
			break
		}
		at += length
	}
	for rest := raw[at : len(raw)-1]; len(rest) > 0; missing++ {
		rest = rest[characterLength(rest):]
	}
	return raw[:at], missing
}

// characterAt is how many bytes the first character of a string of JSON has.
func characterLength(raw []byte) int {
	if raw[0] != '\\' {
		_, n := utf8.DecodeRune(raw)
		return n
	}
	if raw[1] != 'u' {
		return 2
	}
	if len(raw) >= 12 && (raw[2] == 'd' || raw[2] == 'D') && strings.ContainsRune("89abAB", rune(raw[3])) &&
		raw[6] == '\\' &&
		raw[7] == 'u' {
		return 12
	}
	return 6
}
