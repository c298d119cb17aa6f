package wire

import (
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
)

// ParamMembers are the members of Params.
func (m *Message) ParamMembers() (jsonraw.Members, *jsonraw.SyntaxError) {
	if m.index.Known && m.Params != nil {
		return m.index.Members, nil
	}
	return jsonraw.Object(m.Params)
}

// ResultMembers are the members of Result.
func (m *Message) ResultMembers() (jsonraw.Members, *jsonraw.SyntaxError) {
	if m.index.Known && m.Result != nil {
		return m.index.Members, nil
	}
	return jsonraw.Object(m.Result)
}

// ResultItems are the items of the first array that stands under name in Result.
func (m *Message) ResultItems(name string) ([]json.RawMessage, *jsonraw.SyntaxError) {
	members, err := m.ResultMembers()
	if err != nil {
		return nil, err
	}
	for i := range members {
		if members[i].Name != name {
			continue
		}
		if at := slices.Index(m.index.At, i); at >= 0 && m.index.Known {
			return m.index.Lists[at], nil
		}
		return jsonraw.Array(members[i].Value)
	}
	return jsonraw.Array(nil)
}

// longestSearched is up to which length a message is searched for members that
// stand twice: the search remembers every name.
const maxSearched = 256 << 10

// DuplicateInResult gives a JSON pointer to the first member that stands twice
// in its object, at any depth of Result, or "". Readers disagree on which one
// counts. Large results are not searched.
func (m *Message) DuplicateInResult() string {
	if m.Result == nil || m.index.Single || len(m.Raw) > maxSearched {
		return ""
	}
	return jsonraw.DuplicateIn(m.Result)
}
