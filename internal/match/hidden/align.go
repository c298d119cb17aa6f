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
func Align(recorded, current json.RawMessage) (_, _ json.RawMessage) {
	if !redact.HasHiddenParts(string(recorded)) && !redact.HasHiddenParts(string(current)) {
		return recorded, current
	}
	a, recordedErr := jsonvalue.Parse(recorded)
	b, currentErr := jsonvalue.Parse(current)
	if recordedErr != nil || currentErr != nil {
		return recorded, current
	}
	return align(a, b)
}

// align returns the JSON of two nodes. If a hidden part may be the reason for a difference, both
// results are the value with the hidden part.
func align(recorded, current *jsonvalue.Node) (a, b json.RawMessage) {
	if !redact.HasHiddenParts(string(recorded.Raw)) && !redact.HasHiddenParts(string(current.Raw)) {
		return recorded.Raw, current.Raw
	}
	if recorded.Kind == jsonvalue.Object && current.Kind == jsonvalue.Object {
		return alignMembers(Names(recorded.Kids, current.Kids))
	}
	if recorded.Kind == jsonvalue.Array && current.Kind == jsonvalue.Array {
		return alignItems(recorded.Kids, current.Kids)
	}
	if !MayBeEqual(recorded, current) {
		return recorded.Raw, current.Raw
	}
	if recorded.Hidden {
		return recorded.Raw, recorded.Raw
	}
	return current.Raw, current.Raw
}

// alignMembers aligns the members of two objects, which are sorted by name, and returns both
// objects. A member without a counterpart stays as it is.
func alignMembers(recorded, current []*jsonvalue.Node) (a, b json.RawMessage) {
	var before, after jsonraw.Members
	add := func(members *jsonraw.Members, name string, value json.RawMessage) {
		*members = append(*members, jsonraw.Member{Name: name, Value: value})
	}
	i := 0
	j := 0
	for i < len(recorded) || j < len(current) {
		order := -1 // only recorded members are left
		if i == len(recorded) {
			order = 1
		} else if j < len(current) {
			order = jsonvalue.CompareNames(recorded[i].Name, current[j].Name)
		}
		switch {
		case order < 0:
			add(&before, recorded[i].Name, recorded[i].Raw)
			i++
		case order > 0:
			add(&after, current[j].Name, current[j].Raw)
			j++
		default:
			recordedValue, currentValue := align(recorded[i], current[j])
			add(&before, recorded[i].Name, recordedValue)
			add(&after, current[j].Name, currentValue)
			i++
			j++
		}
	}
	empty := json.RawMessage("{}")
	return jsonraw.Append(empty, before...), jsonraw.Append(empty, after...)
}

// alignItems aligns the items of two lists by their indexes, and returns both lists. The lengths
// stay different.
func alignItems(recorded, current []*jsonvalue.Node) (a, b json.RawMessage) {
	var before, after []json.RawMessage
	for i := range max(len(recorded), len(current)) {
		if i >= len(current) {
			before = append(before, recorded[i].Raw)
		} else if i >= len(recorded) {
			after = append(after, current[i].Raw)
		} else {
			recordedItem, currentItem := align(recorded[i], current[i])
			before = append(before, recordedItem)
			after = append(after, currentItem)
		}
	}
	return jsonraw.List(before), jsonraw.List(after)
}

// MayBeEqual reports whether two values may have been equal before parts of them were hidden: one has
// placeholders, and the other has the same text around them. A value that was hidden as a whole may
// have been of any type.
func MayBeEqual(recorded, current *jsonvalue.Node) bool {
	return Compare(recorded, current) != None || isWhole(recorded) || isWhole(current)
}

// isWhole reports whether n is a text that consists of one placeholder.
func isWhole(n *jsonvalue.Node) bool {
	if !n.Hidden || n.Kind != jsonvalue.String {
		return false
	}
	places := redact.HiddenIn(n.Text)
	return len(places) == 1 && places[0][0] == 0 && places[0][1] == len(n.Text)
}

// Lists returns two lists of entries, with the parts that are hidden in one entry hidden in its
// counterpart, too. It pairs the entries by their names. key is the member with the name.
func Lists(recorded, current []json.RawMessage, key string) (_, _ []json.RawMessage) {
	hides := func(raw json.RawMessage) bool { return redact.HasHiddenParts(string(raw)) }
	if !slices.ContainsFunc(recorded, hides) && !slices.ContainsFunc(current, hides) {
		return recorded, current
	}
	before := slices.Clone(recorded)
	after := slices.Clone(current)
	left := namesOf(before, key)
	right := namesOf(after, key)
	// An entry with the same name on both sides is no candidate for a name with a hidden part.
	used := map[int]bool{}
	for name := range left.first {
		if index, exists := right.first[name]; exists {
			used[index] = true
		}
	}
	for i, raw := range before {
		name := left.names[i]
		if first, ok := left.first[name]; !ok || first != i {
			continue // without a name, or with the name of an earlier entry
		}
		index, exists := right.first[name]
		if !exists {
			index = right.findFitting(name, used)
		}
		if index >= 0 {
			used[index] = true
			before[i], after[index] = Align(raw, after[index])
		}
	}
	return before, after
}

// entryNames are the names of the entries of a list, or "" if an entry has no name.
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
		if _, exists := n.first[name]; ok && !exists {
			n.first[name] = i
		}
		if redact.HasHiddenParts(name) {
			n.hidden = append(n.hidden, i)
		}
	}
	return n
}

// findFitting returns the place of the first unused entry whose name fits name, if either name has
// a placeholder. It returns -1 if there is no such entry.
func (n entryNames) findFitting(name string, used map[int]bool) int {
	if !redact.HasHiddenParts(name) { // then the other name must have the placeholder
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
func Places(raw json.RawMessage) []string {
	n, err := jsonvalue.Parse(raw)
	if err != nil {
		return nil
	}
	var visit func(n *jsonvalue.Node, pointer string)
	var pointers []string
	visit = func(n *jsonvalue.Node, pointer string) {
		for i, kid := range n.Kids {
			name := kid.Name
			if n.Kind == jsonvalue.Array {
				name = strconv.Itoa(i)
			}
			below := jsonraw.Pointer(pointer, name)
			if redact.HasHiddenParts(kid.Name) {
				pointers = append(pointers, below)
			} else {
				visit(kid, below)
			}
		}
		if len(n.Kids) == 0 && n.Hidden { // Hidden of an object or array is about its parts
			pointers = append(pointers, pointer)
		}
	}
	visit(n, "")
	return pointers
}
