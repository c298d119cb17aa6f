package wire

import (
	"encoding/json"
	"slices"

	"mcpc/internal/jsonraw"
)

// ParamMembers returns the members of Params, or an error if Params is missing or no object. Parse
// has indexed them already unless they were too many.
func (m *Message) ParamMembers() (jsonraw.Members, *jsonraw.SyntaxError) {
	if m.index.IsComplete && m.Params != nil {
		return m.index.Members, nil
	}
	return jsonraw.Object(m.Params)
}

// ResultMembers returns the members of Result, or an error if Result is missing or no object. Parse
// has indexed them already unless they were too many.
func (m *Message) ResultMembers() (jsonraw.Members, *jsonraw.SyntaxError) {
	if m.index.IsComplete && m.Result != nil {
		return m.index.Members, nil
	}
	return jsonraw.Object(m.Result)
}

// ResultItems returns the items of the array that is the first member called name in Result. It
// returns nothing if the member is missing.
func (m *Message) ResultItems(name string) ([]json.RawMessage, *jsonraw.SyntaxError) {
	members, err := m.ResultMembers()
	if err != nil {
		return nil, err
	}
	for i := range members {
		if members[i].Name != name {
			continue
		}
		if at := slices.Index(m.index.ListPositions, i); at >= 0 && m.index.IsComplete {
			return m.index.Lists[at], nil
		}
		return jsonraw.Array(members[i].Value)
	}
	return jsonraw.Array(nil)
}

// maxSearched is the length of the longest message that is searched for duplicate members: the
// search remembers every name.
const maxSearched = 256 << 10

// DuplicateInResult returns a JSON pointer to the first duplicate member of an object at any depth
// of Result, or "". Readers disagree on which duplicate counts. It does not search large results.
func (m *Message) DuplicateInResult() string {
	if m.Result == nil || m.index.HasNoDuplicates || len(m.Raw) > maxSearched {
		return ""
	}
	return jsonraw.DuplicateIn(m.Result)
}
