package match

import (
	"encoding/json"
	"fmt"
	"slices"

	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/suggest"
)

// A Level says when two requests are the same one.
type Level int

// The levels. Strict compares the method and the params but for what volatile.txt and the
// rules let pass; Exact the method and the bytes of the params; Loose the method and the
// name, and takes the nearest params.
const (
	Strict Level = iota
	Exact
	Loose
)

var levelNames = []string{"strict", "exact", "loose"}

func (l Level) String() string { return levelNames[l] }

// ParseLevel reads what Level.String writes.
func ParseLevel(text string) (Level, error) {
	if at := slices.Index(levelNames, text); at >= 0 {
		return Level(at), nil
	}
	return 0, fmt.Errorf("%s", suggest.OrMeant(fmt.Sprintf("unknown level %q; the levels are exact, strict and loose", text), text, levelNames))
}

// A Request is what one is told by: its method and its params, which are nil where there
// are none. Revision is that of the connection, "" where it is not known.
type Request struct {
	Revision, Method string
	Params           json.RawMessage
}

// An identity is what an Index knows of a request.
type identity struct {
	// key is the same for requests that may be the same, handles for those whose handles are,
	// and plain for those that are the same without the rules of a file.
	key, handles, plain uint64
	name                string
	// params is nil where they cannot be read.
	params *jsonvalue.Node
	sketch sketch
	// ruled is set where a matcher decides on a value, so that one key is not enough.
	ruled bool
}

func (x *Index) identify(r Request) identity {
	var id identity
	n, err := jsonvalue.Parse(r.Params)
	h := jsonvalue.NewHash()
	jsonvalue.WriteName(&h, r.Method)
	if err != nil || x.options.Level == Exact {
		h.Write(r.Params)
	}
	if err == nil {
		id.params, id.name = n, NameOf(r.Method, r.Params)
		on := x.compiled(r.Method, id.name, r.Revision, r.Revision)
		m := mask{handles: jsonvalue.NewHash()}
		if key := m.hash(n, on); x.options.Level != Exact {
			jsonvalue.WriteUint(&h, key)
		}
		id.handles, id.ruled = m.handles.Sum64(), m.ruled
		if id.ruled {
			id.plain = masked(n, compile(nil, Params, r.Method, id.name, r.Revision, r.Revision))
		}
		id.sketch.add(n, on, hashBasis)
	}
	id.key = h.Sum64()
	return id
}

// sketchSize is how many hashes of a sketch are kept.
const sketchSize = 16

// A sketch estimates how many values two requests have in common: it keeps the smallest
// hashes of a request's values, each with its path, where an index counts as [].
type sketch struct {
	n    int
	hash [sketchSize]uint32
}

// The parameters of FNV-1a with 64 bits (RFC 9923, section 5). Unlike the hashes of nodes
// these are the same in each run, and so is what is found by them.
const (
	hashBasis = 0xcbf29ce484222325
	hashPrime = 0x100000001b3
)

func hashText(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime // 0xff is in no text
}

// add adds the values in a node but for those that are let pass. at is the hash of its path.
func (s *sketch) add(n *jsonvalue.Node, on branches, at uint64) {
	if on.rule() != nil && on.rule().Matcher.leafwise() {
		return
	}
	for i, kid := range n.Kids {
		if n.Kind == jsonvalue.Object {
			s.add(kid, on.member(kid.Name), hashText(at, kid.Name))
		} else {
			s.add(kid, on.item(i, i), hashText(at, "[]"))
		}
	}
	if len(n.Kids) == 0 && !n.Hidden {
		h := hashText(at, string(n.Kind)+n.Text)
		s.put(uint32(h ^ h>>32))
	}
}

func (s *sketch) put(h uint32) {
	at, found := slices.BinarySearch(s.hash[:s.n], h)
	if found || at == sketchSize {
		return
	}
	s.n = min(s.n+1, sketchSize)
	copy(s.hash[at+1:s.n], s.hash[at:])
	s.hash[at] = h
}

// mostAlike is the likeness of requests whose values are the same.
const mostAlike = 1000

// likeness is the estimated share of the values that two requests have in common.
func (s *sketch) likeness(other *sketch) int {
	i, j, shared, seen := 0, 0, 0, 0
	for ; seen < sketchSize && (i < s.n || j < other.n); seen++ {
		switch {
		case j == other.n || i < s.n && s.hash[i] < other.hash[j]:
			i++
		case i == s.n || s.hash[i] > other.hash[j]:
			j++
		default:
			i, j, shared = i+1, j+1, shared+1
		}
	}
	return mostAlike * shared / max(seen, 1)
}
