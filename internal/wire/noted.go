package wire

import (
	"encoding/json"
	"slices"
)

// What stands in the params or the result of a message is asked for again and
// again. The pass that reads the envelope sees it anyway, so it is noted there:
// the members, and of those that are arrays the items. Otherwise every question
// would cost another pass over the message.

// A noted is what was noted of the object under Params or Result. Its zero
// value knows nothing.
type noted struct {
	known   bool
	members Members
	// few is where the members stand if there are no more.
	few [4]Member
	// lists are the items of those members that are arrays, at their indexes.
	lists [][]json.RawMessage
	at    []int
	// single is set where it is known that no member stands twice in the message.
	single bool
}

// maxNoted bounds the members and the items that are noted; who has more of them
// is read once more when somebody asks.
const maxNoted = 500

// ParamMembers are the members of Params.
func (m *Message) ParamMembers() (Members, *SyntaxError) {
	if m.noted.known && m.Params != nil {
		return m.noted.members, nil
	}
	return Object(m.Params)
}

// ResultMembers are the members of Result.
func (m *Message) ResultMembers() (Members, *SyntaxError) {
	if m.noted.known && m.Result != nil {
		return m.noted.members, nil
	}
	return Object(m.Result)
}

// ResultItems are the items of the first array that stands under name in Result.
func (m *Message) ResultItems(name string) ([]json.RawMessage, *SyntaxError) {
	members, err := m.ResultMembers()
	if err != nil {
		return nil, err
	}
	for i := range members {
		if members[i].Name != name {
			continue
		}
		if at := slices.Index(m.noted.at, i); at >= 0 && m.noted.known {
			return m.noted.lists[at], nil
		}
		return Array(members[i].Value)
	}
	return Array(nil)
}

// longestSearched is up to which length a message is searched for members that
// stand twice: the search remembers every name.
const longestSearched = 256 << 10

// DuplicateInResult gives a JSON pointer to the first member that stands twice
// in its object, at any depth of Result, or "". Readers disagree on which one
// counts. Large results are not searched.
func (m *Message) DuplicateInResult() string {
	if m.Result == nil || m.noted.single || len(m.Raw) > longestSearched {
		return ""
	}
	return duplicateIn(m.Result)
}

// envelope takes a message apart that has at most maxParts members, and puts them into
// room as far as they fit there; in is what stands in its params or its result. Of a
// message that has both, or one of them twice, nothing is noted: it is no message.
// unpaired is set where a string holds an unpaired surrogate.
func envelope(raw []byte, in *noted, room Members) (members Members, unpaired bool, err *SyntaxError) {
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
		from, fine := s.at, false
		if payload && asked == 1 && s.is('{') {
			in.known, in.members = true, in.few[:0]
			fine = s.object(func(name string) bool { return in.read(&s, name) })
		} else {
			fine = s.value()
		}
		members = append(members, s.member(name, from))
		return fine && len(members) <= maxParts
	})
	switch {
	case len(members) > maxParts:
		err = &SyntaxError{Rule: "too_many", Text: "more members than any message has"}
	case !whole:
		err = s.failed()
	default:
		err = s.ended()
	}
	if err != nil {
		*in = noted{}
		return nil, false, err
	}
	in.known, in.single = in.known && asked == 1, !s.twice
	return members, s.unpaired, nil
}

// read reads one member under params or result.
func (n *noted) read(s *scanner, name string) bool {
	from, fine := s.at, false
	var items []json.RawMessage
	whole := s.is('[')
	if whole {
		fine = s.array(func() bool {
			start := s.at
			fine := s.value()
			if whole = whole && len(items) < maxNoted; whole {
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
func (n *noted) add(member Member, items []json.RawMessage, whole bool) {
	if n.known = n.known && len(n.members) < maxNoted; !n.known {
		n.members, n.lists, n.at = nil, nil, nil
		return
	}
	if whole {
		n.lists = append(n.lists, items)
		n.at = append(n.at, len(n.members))
	}
	n.members = append(n.members, member)
}
