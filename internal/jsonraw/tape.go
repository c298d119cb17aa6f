package jsonraw

import "math"

// A Tape is a JSON value taken apart in one pass: a node for each value and each name, in the
// order in which they stand. Read again, it uses the same memory for the next value, so that
// taking many values apart needs no memory for each.
//
// The children of an array are its items; those of an object are a name and a value in turn.
// The first node is that of the whole value.
type Tape struct {
	raw   []byte
	nodes []Node
}

// A Node is one value, or a name in quotes, and where it stands.
type Node struct {
	From, To int32
	// Next is the number of the node behind this one and all that is in it.
	Next int32
	// Escaped is set for a text with escapes, which is not the bytes within its quotes.
	Escaped bool
}

// Read takes raw apart, as Object and Array do. It reports false where raw is not one JSON value
// of bounded depth in UTF-8, or too long for a Tape.
func (t *Tape) Read(raw []byte) bool {
	t.raw, t.nodes = raw, t.nodes[:0]
	if len(raw) > math.MaxInt32 {
		return false
	}
	s := scanner{raw: raw, twice: true}
	s.next()
	return t.value(&s) && s.ended() == nil
}

// value reads the value at which s stands.
func (t *Tape) value(s *scanner) (ok bool) {
	i := t.begin(s)
	switch s.next() {
	case '"':
		t.nodes[i].Escaped, ok = s.text()
	case '{':
		ok = t.object(s)
	case '[':
		ok = s.array(func() bool { return t.value(s) })
	default:
		ok = s.value()
	}
	t.end(i, s)
	return ok
}

func (t *Tape) object(s *scanner) bool {
	if !s.open() {
		return false
	}
	for c := s.next(); c != '}'; c = s.next() {
		i, ok := t.begin(s), false
		t.nodes[i].Escaped, ok = s.text()
		t.end(i, s)
		if !ok || s.next() != ':' {
			return false
		}
		s.at++
		s.next()
		if !t.value(s) || !s.goesOn('}') {
			return false
		}
	}
	s.at++
	s.depth--
	return true
}

func (t *Tape) begin(s *scanner) int {
	t.nodes = append(t.nodes, Node{From: int32(s.at)})
	return len(t.nodes) - 1
}

func (t *Tape) end(i int, s *scanner) {
	t.nodes[i].To, t.nodes[i].Next = int32(s.at), int32(len(t.nodes))
}

// Node returns a node by its number.
func (t *Tape) Node(i int) Node { return t.nodes[i] }

// Raw gives the bytes of a node.
func (t *Tape) Raw(i int) []byte {
	n := t.nodes[i]
	return t.raw[n.From:n.To:n.To]
}

// Kind is the first byte of a node: '{', '[', '"', 't', 'f', 'n', '-' or a digit.
func (t *Tape) Kind(i int) byte { return t.raw[t.nodes[i].From] }

// Next gives the number of the node behind i and all that is in it.
func (t *Tape) Next(i int) int { return int(t.nodes[i].Next) }

// Is reports that a text says word.
func (t *Tape) Is(i int, word string) bool {
	n := t.nodes[i]
	if !n.Escaped {
		return int(n.To-n.From) == len(word)+2 && string(t.raw[n.From+1:n.To-1]) == word
	}
	return nameOf(t.raw[n.From:n.To], true) == word
}

// Name gives what a text says that is a name.
func (t *Tape) Name(i int) []byte {
	n := t.nodes[i]
	if n.Escaped {
		return []byte(nameOf(t.raw[n.From:n.To], true))
	}
	return t.raw[n.From+1 : n.To-1]
}

// Member gives the number of the value of the first member of the object i with that name, or 0.
func (t *Tape) Member(i int, name string) int {
	if t.Kind(i) != '{' {
		return 0
	}
	for at, end := i+1, t.Next(i); at < end; at = t.Next(at + 1) {
		if t.Is(at, name) {
			return at + 1
		}
	}
	return 0
}
