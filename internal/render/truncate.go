package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
)

// The functions of this file shorten output to a number of characters. A text ends early with a
// mark. JSON stays valid and keeps its shape: first its long texts get a mark, then its lists lose
// items at the end. Names, numbers and the members of objects never change.

// Truncation says how many characters of how many are left, and what was cut. Shown equals Whole if
// nothing was cut.
type Truncation struct {
	Shown, Whole int
	// Texts counts the texts that were cut. Lists names the lists that were cut: "/tools has 12 of
	// 128 items".
	Texts int
	Lists []string
}

// Truncated reports whether anything was cut.
func (c Truncation) Truncated() bool { return c.Shown < c.Whole }

// String returns "cut to 5 of 9 characters", with what was cut.
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

// cutMark returns the mark at the end of a cut text; it has at most maxMark characters.
func cutMark(missing int) string { return fmt.Sprintf("… [cut, %d more characters]", missing) }

// maxMark is the greatest length of the mark at the end of a cut text, in characters.
const maxMark = 40

// TruncateText returns the first limit characters of text and a mark on a separate line. It returns
// a text that is not longer unchanged.
func TruncateText(text string, limit int) (string, Truncation) {
	whole := utf8.RuneCountInString(text)
	if whole <= limit {
		return text, Truncation{Shown: whole, Whole: whole}
	}
	end := 0
	for range limit {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	start := strings.TrimRight(text[:end], "\r\n")
	return start + "\n" + cutMark(whole-limit) + "\n", Truncation{Shown: limit, Whole: whole}
}

// ErrTooManyNames means that JSON has so many names and numbers that cutting its texts and lists
// cannot make it fit.
var ErrTooManyNames = errors.New("it has too many member names and numbers")

// Texts keep at least fairTextLength characters while there are lists to shorten, and always
// minTextLength.
const (
	fairTextLength = 200
	minTextLength  = 20
)

// TruncateJSON cuts one JSON document to at most limit characters. It returns invalid JSON
// unchanged. The error is ErrTooManyNames if the document cannot be cut so far.
func TruncateJSON(raw json.RawMessage, limit int) (json.RawMessage, Truncation, error) {
	whole := utf8.RuneCount(raw)
	if whole <= limit || jsonraw.Valid(raw) != nil {
		return raw, Truncation{Shown: whole, Whole: whole}, nil
	}
	root := parseNode(raw, "")
	root.shortenLists(limit)
	textLength := root.maxTextLength(limit)
	if textLength < minTextLength {
		return nil, Truncation{Whole: whole}, ErrTooManyNames
	}
	cut := Truncation{Whole: whole}
	var b bytes.Buffer
	root.write(&b, textLength, &cut)
	cut.Shown = utf8.RuneCount(b.Bytes())
	return b.Bytes(), cut, nil
}

// valueNode is a JSON value that can be written shorter.
type valueNode struct {
	// open is '{', '[', '"', or 0 if the value cannot be cut.
	open byte
	// raw is the text of a string or scalar, chars its number of characters.
	raw       []byte
	chars     int
	path      string // JSON pointer
	names     [][]byte
	children  []*valueNode
	keptCount int // number of children that are written
}

// parseNode returns valid JSON as a tree; path is its JSON pointer.
func parseNode(raw json.RawMessage, path string) *valueNode {
	if members, err := jsonraw.Object(raw); err == nil {
		n := &valueNode{open: '{', path: path, keptCount: len(members)}
		for _, m := range members {
			n.names = append(n.names, jsonraw.Quote(m.Name))
			n.children = append(n.children, parseNode(m.Value, path+"/"+m.Name))
		}
		return n
	}
	if items, err := jsonraw.Array(raw); err == nil {
		n := &valueNode{open: '[', path: path, keptCount: len(items)}
		for i, item := range items {
			n.children = append(n.children, parseNode(item, fmt.Sprintf("%s/%d", path, i)))
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

// size returns the number of characters of the value if texts are cut to textLength.
func (n *valueNode) size(textLength int) int {
	if n.open == '"' {
		return min(n.chars, textLength+maxMark+2) // with its quotes
	}
	if n.open != '{' && n.open != '[' {
		return n.chars
	}
	size := 2 + max(0, n.keptCount-1) // brackets and commas
	for i, child := range n.children[:n.keptCount] {
		size += child.size(textLength)
		if n.open == '{' {
			size += utf8.RuneCount(n.names[i]) + 1 // with the colon
		}
	}
	return size
}

// maxTextLength returns the maximum length of texts that makes the value fit into limit characters.
// It returns less than minTextLength if it never fits.
func (n *valueNode) maxTextLength(limit int) int {
	low := minTextLength - 1 // the result if no length fits
	high := limit
	for low < high {
		middle := (low + high + 1) / 2
		if n.size(middle) <= limit {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// shortenLists removes items at the end of the largest lists until the value with texts of
// fairTextLength fits into limit characters. Each list keeps one item.
func (n *valueNode) shortenLists(limit int) {
	for {
		over := n.size(fairTextLength) - limit
		if over <= 0 {
			return
		}
		longest, _ := n.largestList()
		if longest == nil {
			return
		}
		// Lists in a removed item are gone, too, so the largest list is looked up again after this.
		for over > 0 && longest.keptCount > 1 {
			longest.keptCount--
			over -= longest.children[longest.keptCount].size(fairTextLength) + 1 // with its comma
		}
	}
}

// largestList returns the largest list in n that can lose an item, and its size, or nil without
// such a list.
func (n *valueNode) largestList() (found *valueNode, size int) {
	if n.open == '[' && n.keptCount > 1 {
		found = n
		size = n.size(fairTextLength)
	}
	for _, child := range n.children[:n.keptCount] {
		if list, s := child.largestList(); s > size {
			found = list
			size = s
		}
	}
	return found, size
}

// write writes the value with texts cut to limit and the remaining items, and counts the cuts in
// cut.
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
	for i, child := range n.children[:n.keptCount] {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.open == '{' {
			b.Write(n.names[i])
			b.WriteByte(':')
		}
		child.write(b, limit, cut)
	}
	b.WriteByte(n.open + 2) // in ASCII, ] is [ + 2 and } is { + 2
	if n.keptCount < len(n.children) {
		name := n.path
		if name == "" {
			name = "the list"
		}
		cut.Lists = append(cut.Lists, fmt.Sprintf("%s has %d of %d items", name, n.keptCount, len(n.children)))
	}
}

// cutString returns the start of a JSON string, with its quote and at most limit encoded
// characters, and how many characters are missing. It cuts no escape and no surrogate pair in two.
func cutString(raw []byte, limit int) (head []byte, missing int) {
	end := 1 // after the opening quote
	for used := 0; end < len(raw)-1; {
		length := characterLength(raw[end:])
		used += utf8.RuneCount(raw[end : end+length])
		if used > limit {
			break
		}
		end += length
	}
	for rest := raw[end : len(raw)-1]; len(rest) > 0; missing++ {
		rest = rest[characterLength(rest):]
	}
	return raw[:end], missing
}

// characterLength returns the number of bytes of the first character in a JSON string.
func characterLength(raw []byte) int {
	if raw[0] != '\\' {
		_, n := utf8.DecodeRune(raw)
		return n
	}
	if raw[1] != 'u' {
		return 2
	}
	// A character above U+FFFF is two escapes; the first is from \ud800 to \udbff.
	isHighSurrogate := (raw[2] == 'd' || raw[2] == 'D') && strings.ContainsRune("89abAB", rune(raw[3]))
	if isHighSurrogate && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		return 12
	}
	return 6
}
