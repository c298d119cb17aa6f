package jsonraw

import (
	"encoding/json"
)

// MaxParts is how many members an envelope and how many messages a batch may
// have. Two bytes of a batch would otherwise cost hundreds.
const MaxParts = 10_000

// The members of params or result are looked up again and again. The pass that
// reads the envelope sees them anyway, so it notes them, and the items of those that
// are arrays. Otherwise every lookup would cost another pass over the message.

// An Index is what was noted of the object under params or result. Its zero
// value notes nothing.
type Index struct {
	Known   bool
	Members Members
	// few is where the members stand if there are no more.
	few [4]Member
	// Lists are the items of those members that are arrays, at their indexes.
	Lists [][]json.RawMessage
	At    []int
	// Single is set where it is known that no member stands twice in the message.
	Single bool
}

// MaxNoted bounds the members, and the items of each array, that are noted. An object
// or array with more of them is parsed again at each lookup.
const MaxNoted = 500

// Envelope takes a message apart that has at most MaxParts members, and puts them into
// room as far as they fit there; in receives the members of its params or its result.
// Of a message that has both, or one of them twice, nothing is noted: it is not a message.
// unpaired is set where a string holds an unpaired surrogate.
func Envelope(raw []byte, in *Index, room Members) (members Members, unpaired bool, err *SyntaxError) {
	s := scanner{raw: raw}
	if s.next() != '{' {
		return nil, false, notA(raw, "not_object", "not a JSON object")
	}
	asked := 0
	members = room[:0]
	whole := s.object(func(name string) bool {
		payload := name == "params" || name == "result"
		if payload {
			asked++
		}
		from := s.at
		fine := false
		if payload && asked == 1 && s.is('{') {
			in.Known, in.Members = true, in.few[:0]
			fine = s.object(func(name string) bool { return in.read(&s, name) })
		} else {
			fine = s.value()
		}
		members = append(members, s.member(name, from))
		return fine && len(members) <= MaxParts
	})
	switch {
	case len(members) > MaxParts:
		err = &SyntaxError{Rule: "too_many", Text: "more members than any message has"}
	case !whole:
		err = s.failed()
	default:
		err = s.ended()
	}
	if err != nil {
		*in = Index{}
		return nil, false, err
	}
	in.Known = in.Known && asked == 1
	in.Single = !s.twice
	return members, s.unpaired, nil
}

// read reads one member under params or result.
func (n *Index) read(s *scanner, name string) bool {
	from := s.at
	fine := false
	var items []json.RawMessage
	whole := s.is('[')
	if whole {
		fine = s.array(func() bool {
			start := s.at
			fine := s.value()
			whole = whole && len(items) < MaxNoted
			if whole {
				items = append(items, s.raw[start:s.at:s.at])
			}
			return fine
		})
	} else {
		fine = s.value()
	}
	n.add(s.member(name, from), items, whole)
	return fine
}

// add notes one member; its items where they are whole. It forgets all where there are
// too many.
func (n *Index) add(member Member, items []json.RawMessage, whole bool) {
	n.Known = n.Known && len(n.Members) < MaxNoted
	if !n.Known {
		n.Members = nil
		n.Lists = nil
		n.At = nil
		return
	}
	if whole {
		n.Lists = append(n.Lists, items)
		n.At = append(n.At, len(n.Members))
	}
	n.Members = append(n.Members, member)
}
