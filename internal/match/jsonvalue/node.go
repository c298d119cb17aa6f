package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

// maxNodes bounds the values (members, items, scalars) in one JSON value. Each takes about 120
// bytes.
const maxNodes = 500_000

// ErrTooLarge is the error of JSON with more than maxNodes values.
var ErrTooLarge = errors.New("the value has more parts than are compared")

// The kinds of a node: the first byte of its JSON, except '0' for all numbers and 'b' for booleans.
const (
	Object = '{'
	Array  = '['
	String = '"'
	Number = '0'
	Bool   = 'b'
	Null   = 'n'
)

// A Node is a JSON value. Members are sorted by name (RFC 8785, section 3.2.3); members with the
// same name keep their order.
type Node struct {
	Kind byte
	// Hidden is set if the value contains a placeholder of a secret (redact.Redacted).
	Hidden bool
	// Leaves is the number of values without parts, at least 1.
	Leaves int
	// At is the offset of Raw in the text that was parsed.
	At  int
	Raw json.RawMessage
	// Text is a string's text or a number's Decimal. Name is the name of a member.
	Text, Name string
	Kids       []*Node
	// Hash depends on the value only, not on the notation or the order of members. It differs
	// between runs of the program.
	Hash uint64
}

// seed makes hashes unpredictable for the author of a hostile file. No result depends on it.
var seed = maphash.MakeSeed()

// NewHash returns an empty hash with the seed of the nodes.
func NewHash() maphash.Hash {
	var h maphash.Hash
	h.SetSeed(seed)
	return h
}

// Parse parses one JSON value. Nil is an empty object, as for omitted params. The error is
// ErrTooLarge or an error of jsonraw.Valid.
func Parse(raw json.RawMessage) (*Node, error) {
	if raw == nil {
		raw = json.RawMessage("{}")
	}
	if err := jsonraw.Valid(raw); err != nil {
		return nil, err
	}
	p := parser{raw: raw}
	n := p.parseValue()
	if p.count > maxNodes {
		return nil, ErrTooLarge
	}
	return n, nil
}

// A parser reads valid JSON, which is no deeper than jsonraw.MaxDepth.
type parser struct {
	raw           json.RawMessage
	offset, count int
	unusedNodes   []Node
}

// skipToNext skips white space, commas and colons, and returns the byte after them.
func (p *parser) skipToNext() byte {
	for bytes.IndexByte([]byte(" \t\r\n,:"), p.raw[p.offset]) >= 0 {
		p.offset++
	}
	return p.raw[p.offset]
}

// parseValue reads one value with its parts.
func (p *parser) parseValue() *Node {
	first := p.skipToNext()
	if len(p.unusedNodes) == 0 {
		p.unusedNodes = make([]Node, min(8+p.count, 1024)) // many at once: fewer allocations
	}
	n := &p.unusedNodes[0]
	p.unusedNodes = p.unusedNodes[1:]
	p.count++
	*n = Node{Kind: first, At: p.offset}
	switch first {
	case Object:
		p.parseMembers(n)
	case Array:
		p.parseItems(n)
	case String:
		p.skipString()
	default:
		for p.offset < len(p.raw) && bytes.IndexByte([]byte(" \t\r\n,:]}"), p.raw[p.offset]) < 0 {
			p.offset++
		}
	}
	n.Raw = p.raw[n.At:p.offset:p.offset]
	switch {
	case first == 't' || first == 'f':
		n.Kind = Bool
		n.Text = string(n.Raw)
	case first == '-' || first >= '0' && first <= '9':
		n.Kind = Number
		n.Text = Decimal(string(n.Raw))
	case first == String:
		n.Text = textOf(n.Raw)
		mayHide := strings.Contains(n.Text, "sha256") || strings.Contains(n.Text, "//") // a fast check
		n.Hidden = mayHide && redact.HasHiddenParts(n.Text)
	}
	n.summarize()
	return n
}

// parseMembers reads the members of an object and sorts them by name.
func (p *parser) parseMembers(n *Node) {
	p.offset++
	for p.skipToNext() != '}' {
		nameStart := p.offset
		p.skipString()
		name := textOf(p.raw[nameStart:p.offset])
		kid := p.parseValue()
		if p.count > maxNodes {
			return
		}
		kid.Name = name
		n.Kids = append(n.Kids, kid)
	}
	p.offset++
	slices.SortStableFunc(n.Kids, func(a, b *Node) int { return CompareNames(a.Name, b.Name) })
}

// parseItems reads the items of an array.
func (p *parser) parseItems(n *Node) {
	p.offset++
	for p.skipToNext() != ']' {
		n.Kids = append(n.Kids, p.parseValue())
		if p.count > maxNodes {
			return
		}
	}
	p.offset++
}

// skipString skips a string with its quotes.
func (p *parser) skipString() {
	for p.offset++; p.raw[p.offset] != '"'; p.offset++ {
		if p.raw[p.offset] == '\\' {
			p.offset++
		}
	}
	p.offset++
}

// summarize sets the hash, the leaves and Hidden of a node from its text and its parts.
func (n *Node) summarize() {
	h := NewHash()
	h.WriteByte(n.Kind)
	h.WriteString(n.Text)
	for _, kid := range n.Kids {
		if n.Kind == Object {
			WriteName(&h, kid.Name)
		}
		WriteUint(&h, kid.Hash)
		n.Leaves += kid.Leaves
		n.Hidden = n.Hidden || kid.Hidden
	}
	n.Hash = h.Sum64()
	n.Leaves = max(n.Leaves, 1)
}

// WriteName adds a text and its length to a hash.
func WriteName(h *maphash.Hash, name string) {
	WriteUint(h, uint64(len(name)))
	h.WriteString(name)
}

// WriteUint adds a number to a hash.
func WriteUint(h *maphash.Hash, n uint64) {
	var b [8]byte
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
	h.Write(b[:])
}

// textOf returns the text of a JSON string. If the string has an unpaired surrogate, it returns
// 0xff, which occurs in no text, and the string as it is written.
func textOf(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	text, ok := jsonraw.Unquote(nil, quoted)
	if !ok {
		return "\xff" + string(quoted)
	}
	return string(text)
}

// Member returns the first member with a name, or nil.
func (n *Node) Member(name string) *Node {
	if n.Kind != Object {
		return nil
	}
	byName := func(kid *Node, name string) int { return CompareNames(kid.Name, name) }
	i, found := slices.BinarySearchFunc(n.Kids, name, byName)
	if !found {
		return nil
	}
	return n.Kids[i]
}

// IsLeaf reports whether the value is neither an object nor an array.
func (n *Node) IsLeaf() bool { return n.Kind != Object && n.Kind != Array }

// Is reports whether two values are equal.
func (n *Node) Is(other *Node) bool { return n.Kind == other.Kind && n.Hash == other.Hash }

// CompareNames orders names by their UTF-16 code units (RFC 8785, section 3.2.3).
func CompareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return unitOrder(a[i]) - unitOrder(b[i])
		}
	}
	return len(a) - len(b)
}

// unitOrder returns the rank of the first byte where two texts in UTF-8 differ. Characters beyond
// U+FFFF, which begin with 0xF0 or more, are surrogates in UTF-16 and precede U+E000.
func unitOrder(c byte) int {
	if c >= 0xF0 {
		return 0xED*32 + 1 + int(c-0xF0)
	}
	return int(c) * 32
}

// Canonical returns JSON in the form of RFC 8785: sorted members, no white space, normalized strings
// and numbers. Unlike in the RFC, numbers keep all digits and duplicate members are kept.
func Canonical(raw json.RawMessage) (json.RawMessage, error) {
	n, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return n.appendCanonical(nil), nil
}

// appendCanonical appends the canonical JSON of the value.
func (n *Node) appendCanonical(b []byte) []byte {
	switch n.Kind {
	case String:
		return appendText(b, n.Text)
	case Number:
		return append(b, ecmaNumber(n.Text)...)
	case Bool, Null:
		return append(b, n.Raw...)
	}
	b = append(b, n.Kind)
	for i, kid := range n.Kids {
		if i > 0 {
			b = append(b, ',')
		}
		if n.Kind == Object {
			b = append(appendText(b, kid.Name), ':')
		}
		b = kid.appendCanonical(b)
	}
	return append(b, n.Kind+2) // the closing bracket
}

// appendText appends a text of textOf as a JSON string.
func appendText(b []byte, text string) []byte {
	if len(text) > 0 && text[0] == '\xff' {
		return append(b, text[1:]...)
	}
	return append(b, jsonraw.Quote(text)...)
}

// Alike returns the similarity of two texts, from 0 to 1: the length of their common prefix and
// suffix divided by the length of the longer text.
func Alike(a, b string) float64 {
	longer := max(len(a), len(b))
	shorter := min(len(a), len(b))
	prefix := 0
	suffix := 0
	for prefix < shorter && a[prefix] == b[prefix] {
		prefix++
	}
	for suffix < shorter-prefix && a[len(a)-1-suffix] == b[len(b)-1-suffix] {
		suffix++
	}
	return float64(prefix+suffix) / float64(max(longer, 1))
}
