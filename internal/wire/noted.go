package wire

import (
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
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

// envelope is object for a message; in is what stands in its params or its
// result. Of a message that has both, or one of them twice, nothing is noted:
// it is no message. The members are put into room as far as they fit there.
func envelope(raw []byte, in *noted, room Members) (members Members, unpaired bool, err *SyntaxError) {
	if members, ok := plainEnvelope(raw, in, room); ok {
		return members, false, nil
	}
	return anyEnvelope(raw, in, room)
}

// anyEnvelope is envelope for whatever may come.
func anyEnvelope(raw []byte, in *noted, room Members) (members Members, unpaired bool, err *SyntaxError) {
	look := func(d *jsontext.Decoder) *SyntaxError {
		members, *in = room[:0], noted{}
		if err := open(d, raw, '{'); err != nil {
			return err
		}
		asked := 0
		for d.PeekKind() == '"' {
			name, err := nextName(d)
			if err != nil {
				return syntaxError(d, err)
			}
			payload := name == "params" || name == "result"
			if payload {
				asked++
			}
			from, to, err := nextNoted(d, raw, payload && asked == 1, in)
			if err != nil {
				return syntaxError(d, err)
			}
			if members = append(members, Member{Name: name, Value: raw[from:to:to]}); len(members) > maxParts {
				return &SyntaxError{Rule: "too_many", Text: "more members than any message has"}
			}
		}
		in.known = in.known && asked == 1
		return closed(d, raw)
	}
	if in.single = readSingle(raw, look); in.single {
		return members, false, nil
	}
	unpaired, err = read(raw, look)
	if err != nil && err.Rule == "too_many" {
		return nil, false, err
	}
	return members, unpaired, err
}

// nextNoted is nextValue, and notes what stands in the value if it is an object.
func nextNoted(d *jsontext.Decoder, raw []byte, note bool, in *noted) (from, to int, err error) {
	if !note || d.PeekKind() != '{' {
		return nextValue(d)
	}
	if _, err = d.ReadToken(); err != nil {
		return 0, 0, err
	}
	from = int(d.InputOffset()) - 1
	in.known, in.members = true, in.few[:0]
	for d.PeekKind() == '"' {
		name, err := nextName(d)
		if err != nil {
			return 0, 0, err
		}
		if err := in.note(d, raw, name); err != nil {
			return 0, 0, err
		}
	}
	_, err = d.ReadToken()
	return from, int(d.InputOffset()), err
}

// note reads one member.
func (n *noted) note(d *jsontext.Decoder, raw []byte, name string) error {
	var items []json.RawMessage
	var from, to int
	var err error
	whole := d.PeekKind() == '['
	if whole {
		items, whole, from, to, err = nextItems(d, raw)
	} else {
		from, to, err = nextValue(d)
	}
	if err != nil {
		return err
	}
	n.add(Member{Name: name, Value: raw[from:to:to]}, items, whole)
	return nil
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

// nextItems reads an array; the items are not whole where there are too many.
func nextItems(d *jsontext.Decoder, raw []byte) (items []json.RawMessage, whole bool, from, to int, err error) {
	if _, err = d.ReadToken(); err != nil {
		return nil, false, 0, 0, err
	}
	from, whole = int(d.InputOffset())-1, true
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		start, end, err := nextValue(d)
		if err != nil {
			return nil, false, 0, 0, err
		}
		if whole = whole && len(items) < maxNoted; whole {
			items = append(items, raw[start:end:end])
		}
	}
	_, err = d.ReadToken()
	return items, whole, from, int(d.InputOffset()), err
}
