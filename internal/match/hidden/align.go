package hidden

import (
	"encoding/json"
	"slices"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/redact"
)

// Align hides in both values the parts that are hidden in one, so that a comparison finds no
// difference there. It returns values without hidden parts, and values that are not JSON,
// unchanged.
func Align(was, is json.RawMessage) (_, _ json.RawMessage) {
	if !redact.HasHiddenParts(string(was)) && !redact.HasHiddenParts(string(is)) {
		return was, is
	}
	a, wasErr := jsonvalue.Parse(was)
	b, isErr := jsonvalue.Parse(is)
	if wasErr != nil || isErr != nil {
		return was, is
	}
	return align(a, b)
}

// align implements Align for two nodes.
func align(was, is *jsonvalue.Node) (a, b json.RawMessage) {
	if !redact.HasHiddenParts(string(was.Raw)) && !redact.HasHiddenParts(string(is.Raw)) {
		return was.Raw, is.Raw
	}
	if was.Kind == jsonvalue.Object && is.Kind == jsonvalue.Object {
		return alignMembers(Names(was.Kids, is.Kids))
	}
	if was.Kind == jsonvalue.Array && is.Kind == jsonvalue.Array {
		return alignItems(was.Kids, is.Kids)
	}
	if Unknown(was, is) && was.Hidden {
		return was.Raw, was.Raw
	}
	if Unknown(was, is) {
		return is.Raw, is.Raw
	}
	return was.Raw, is.Raw
}

// alignMembers aligns the members of two objects, which are sorted by name.
func alignMembers(was, is []*jsonvalue.Node) (a, b json.RawMessage) {
	var before, after jsonraw.Members
	add := func(to *jsonraw.Members, name string, value json.RawMessage) {
		*to = append(*to, jsonraw.Member{Name: name, Value: value})
	}
	i := 0
	j := 0
	for i < len(was) || j < len(is) {
		switch {
		case j == len(is) || i < len(was) && jsonvalue.CompareNames(was[i].Name, is[j].Name) < 0:
			add(&before, was[i].Name, was[i].Raw)
			i++
		case i == len(was) || jsonvalue.CompareNames(was[i].Name, is[j].Name) > 0:
			add(&after, is[j].Name, is[j].Raw)
			j++
		default:
			x, y := align(was[i], is[j])
			add(&before, was[i].Name, x)
			add(&after, is[j].Name, y)
			i++
			j++
		}
	}
	empty := json.RawMessage("{}")
	return jsonraw.Append(empty, before...), jsonraw.Append(empty, after...)
}

// alignItems aligns the items of two lists by their indexes.
func alignItems(was, is []*jsonvalue.Node) (a, b json.RawMessage) {
	var before, after []json.RawMessage
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(is):
			before = append(before, was[i].Raw)
		case i >= len(was):
			after = append(after, is[i].Raw)
		default:
			x, y := align(was[i], is[i])
			before = append(before, x)
			after = append(after, y)
		}
	}
	return jsonraw.List(before), jsonraw.List(after)
}

// Unknown reports whether two values cannot be compared because one has placeholders, and the other
// has the same text around them. A value that was hidden as a whole may have been of any type.
func Unknown(was, is *jsonvalue.Node) bool {
	return Compare(was, is) != None || isWhole(was) || isWhole(is)
}

// isWhole reports whether n is a text that consists of one placeholder.
func isWhole(n *jsonvalue.Node) bool {
	if !n.Hidden || n.Kind != jsonvalue.String {
		return false
	}
	at := redact.HiddenIn(n.Text)
	return len(at) == 1 && at[0][0] == 0 && at[0][1] == len(n.Text)
}

// Lists aligns two lists of entries as Align does. It pairs the entries by their names. key is the
// member with the name.
func Lists(was, is []json.RawMessage, key string) (_, _ []json.RawMessage) {
	hides := func(raw json.RawMessage) bool { return redact.HasHiddenParts(string(raw)) }
	if !slices.ContainsFunc(was, hides) && !slices.ContainsFunc(is, hides) {
		return was, is
	}
	before := slices.Clone(was)
	after := slices.Clone(is)
	left := namesOf(before, key)
	right := namesOf(after, key)
	used := map[int]bool{}
	for name := range left.first {
		if at, there := right.first[name]; there {
			used[at] = true
		}
	}
	for i, raw := range before {
		name := left.names[i]
		if first, ok := left.first[name]; !ok || first != i {
			continue
		}
		at, there := right.first[name]
		if !there {
			at = right.fitting(name, used)
		}
		if at >= 0 {
			used[at] = true
			before[i], after[at] = Align(raw, after[at])
		}
	}
	return before, after
}

// entryNames are the names of the entries of a list, "" for an entry without one.
type entryNames struct {
	names []string
	// first maps a name to the place of its first entry; hidden are the places of entries whose
	// name has a hidden part.
	first  map[string]int
	hidden []int
}

// namesOf returns the names of entries.
func namesOf(all []json.RawMessage, key string) entryNames {
	n := entryNames{names: make([]string, len(all)), first: map[string]int{}}
	for i, raw := range all {
		name, ok := jsonraw.Text(jsonraw.First(raw, key))
		n.names[i] = name
		if _, there := n.first[name]; ok && !there {
			n.first[name] = i
		}
		if redact.HasHiddenParts(name) {
			n.hidden = append(n.hidden, i)
		}
	}
	return n
}

// fitting returns the place of the first unused entry whose name fits name, if at least one of the
// names has a placeholder. It returns -1 if there is no such entry.
func (n entryNames) fitting(name string, used map[int]bool) int {
	if !redact.HasHiddenParts(name) {
		for _, i := range n.hidden {
			if !used[i] && fitHidden(n.names[i], name) != None {
				return i
			}
		}
		return -1
	}
	for i, other := range n.names {
		if !used[i] && (fitHidden(name, other) != None || fitHidden(other, name) != None) {
			return i
		}
	}
	return -1
}

// Places returns the JSON pointers of the values with hidden parts. "" is the value itself. A
// member with a hidden name counts as a whole.
func Places(raw json.RawMessage) (pointers []string) {
	n, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil
	}
	var visit func(n *jsonvalue.Node, at string)
	visit = func(n *jsonvalue.Node, at string) {
		for i, kid := range n.Kids {
			name := kid.Name
			if n.Kind == jsonvalue.Array {
				name = strconv.Itoa(i)
			}
			below := jsonraw.Pointer(at, name)
			if redact.HasHiddenParts(kid.Name) {
				pointers = append(pointers, below)
			} else {
				visit(kid, below)
			}
		}
		if len(n.Kids) == 0 && n.Hidden {
			pointers = append(pointers, at)
		}
	}
	visit(n, "")
	return pointers
}
