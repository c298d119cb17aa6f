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

// An Index remembers the members of the object params or result. The zero value has no members.
type Index struct {
	// IsComplete is set if Members are all members of the object.
	IsComplete bool
	Members    Members
	// room is the memory for the first members.
	room [4]Member
	// Lists are the items of the members that are arrays. ListPositions are the indexes of these
	// members in Members.
	Lists         [][]json.RawMessage
	ListPositions []int
	// HasNoDuplicates is set if the message is known to have no duplicate members.
	HasNoDuplicates bool
}

// MaxIndexed bounds the remembered members, and the remembered items of each array. Larger objects and
// arrays are parsed again at each lookup.
const MaxIndexed = 500

// Envelope parses a message with at most MaxParts members. It uses room as the memory of the
// members if they fit, and replaces index by the members of params or result. index.IsComplete is
// false if the message has neither, both, or either twice, and if the value is not an object or has
// more than MaxIndexed members. hasUnpaired reports whether a string has an unpaired surrogate.
// After an error index is empty.
func Envelope(raw []byte, index *Index, room Members) (members Members, hasUnpaired bool, err *SyntaxError) {
	*index = Index{}
	s := scanner{raw: raw}
	if s.skipSpace() != '{' {
		return nil, false, wrongType(raw, "not_object", "not a JSON object")
	}
	payloads := 0
	members = room[:0]
	isValid := s.readObject(func(name string) bool {
		isPayload := name == "params" || name == "result"
		if isPayload {
			payloads++
		}
		from := s.offset
		isValid := false
		if isPayload && payloads == 1 && s.nextIs('{') {
			index.IsComplete = true
			index.Members = index.room[:0]
			isValid = s.readObject(func(name string) bool { return index.readMember(&s, name) })
		} else {
			isValid = s.readValue()
		}
		members = append(members, s.newMember(name, from))
		return isValid && len(members) <= MaxParts
	})
	if len(members) > MaxParts {
		err = &SyntaxError{Rule: "too_many", Text: "more members than any message has"}
	} else if !isValid {
		err = s.syntaxError()
	} else {
		err = s.checkEnd()
	}
	if err != nil {
		*index = Index{}
		return nil, false, err
	}
	index.IsComplete = index.IsComplete && payloads == 1
	index.HasNoDuplicates = !s.mayHaveDuplicates
	return members, s.hasUnpaired, nil
}

// readMember reads one member of params or result and adds it to the index. It reports false if its
// value is not valid JSON.
func (n *Index) readMember(s *scanner, name string) bool {
	from := s.offset
	isValid := false
	var items []json.RawMessage
	hasAllItems := s.nextIs('[') // an array of at most MaxIndexed items
	if hasAllItems {
		isValid = s.readArray(func() bool {
			start := s.offset
			isItemValid := s.readValue()
			hasAllItems = hasAllItems && len(items) < MaxIndexed
			if hasAllItems {
				items = append(items, s.raw[start:s.offset:s.offset])
			}
			return isItemValid
		})
	} else {
		isValid = s.readValue()
	}
	n.addMember(s.newMember(name, from), items, hasAllItems)
	return isValid
}

// addMember remembers one member, and its items if hasAllItems is set. It drops everything if there are
// more than MaxIndexed members.
func (n *Index) addMember(member Member, items []json.RawMessage, hasAllItems bool) {
	n.IsComplete = n.IsComplete && len(n.Members) < MaxIndexed
	if !n.IsComplete {
		n.Members = nil
		n.Lists = nil
		n.ListPositions = nil
		return
	}
	if hasAllItems {
		n.Lists = append(n.Lists, items)
		n.ListPositions = append(n.ListPositions, len(n.Members))
	}
	n.Members = append(n.Members, member)
}
