package jsonraw

import (
	"encoding/json"
)

// MaxParts bounds the members of an envelope and the messages of a batch. A part in a hostile batch
// may have only two bytes, but takes hundreds of bytes of memory.
const MaxParts = 10_000

// The members of params or result are looked up repeatedly. The pass that reads the envelope sees
// them anyway, so it remembers them, and the items of members that are arrays. Otherwise every
// lookup would cost a pass over the message.

// An Index remembers the members of the object params or result. The zero value has none.
type Index struct {
	// Known is set if Members are all members of the object.
	Known   bool
	Members Members
	// few is the memory for the first members.
	few [4]Member
	// Lists are the items of members that are arrays. At are the indexes of these members in Members.
	Lists [][]json.RawMessage
	At    []int
	// Single is set if the message is known to have no duplicate members.
	Single bool
}

// MaxNoted bounds the remembered members, and the remembered items of each array. Larger objects and
// arrays are parsed again at each lookup.
const MaxNoted = 500

// Envelope parses a message with at most MaxParts members. It uses room as the memory of the
// members if they fit, and fills in with the members of params or result. in.Known is false if the
// message has both, or one of them twice. unpaired is set if a string has an unpaired surrogate.
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

// read reads one member of params or result and adds it to the index.
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

// add remembers one member, and its items if whole is set. It drops everything if there are more
// than MaxNoted members.
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
