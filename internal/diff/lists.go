package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/suggest"
)

// An entry is one definition of a list.
type entry struct {
	raw     json.RawMessage
	members jsonraw.Members
	name    string
	key     string // the name and a number, unique in the list
	index   int    // in the list
}

// identifyingMember returns the name of the member that identifies a definition.
func identifyingMember(kind string) string {
	return map[string]string{Tool: "name", Prompt: "name", Resource: "uri", Template: "uriTemplate"}[kind]
}

// parseEntries parses the definitions of a list. It returns definitions without a name separately.
func parseEntries(kind string, items []json.RawMessage) (named []entry, unnamed []json.RawMessage) {
	count := map[string]int{}
	for i, raw := range items {
		members, _ := jsonraw.Object(raw)
		name := members.Text(identifyingMember(kind))
		if name == "" {
			unnamed = append(unnamed, raw)
			continue
		}
		key := fmt.Sprintf("%s\x00%d", name, count[name])
		named = append(named, entry{raw: raw, members: members, name: name, key: key, index: i})
		count[name]++
	}
	return named, unnamed
}

// compareList compares two lists of one kind. It pairs entries by name first, and then looks for
// renames among the rest.
func (c *comparison) compareList(kind, member string, a, b []json.RawMessage) {
	was, unnamedWas := parseEntries(kind, a)
	is, unnamedIs := parseEntries(kind, b)
	c.compareUnnamed(kind, unnamedWas, unnamedIs)
	indexes := map[string]int{}
	for i, e := range is {
		indexes[e.key] = i
	}
	var removed []entry
	matched := make([]bool, len(is))
	var order []int // the new indexes of the old entries
	for _, e := range was {
		i, found := indexes[e.key]
		if !found {
			removed = append(removed, e)
			continue
		}
		matched[i] = true
		order = append(order, i)
		c.compareDefinition(Subject{kind, e.name}, e, is[i])
	}
	var added []entry
	for i, e := range is {
		if !matched[i] {
			added = append(added, e)
		}
	}
	c.compareUnmatched(kind, removed, added)
	if !c.sorted && !slices.IsSorted(order) {
		c.add(Subject{List, member}, "order-changed", "", listNames(was), listNames(is), detail{})
	}
}

// listNames returns the names of entries as a JSON list.
func listNames(all []entry) json.RawMessage {
	return jsonraw.ListOf(all, func(e entry) []byte { return jsonraw.Quote(e.name) })
}

// compareUnnamed compares the entries without a name, which no client can use.
func (c *comparison) compareUnnamed(kind string, a, b []json.RawMessage) {
	count := map[string]int{} // of the entries in a without an equal one in b
	for _, raw := range a {
		count[string(jsonraw.Canonical(raw))]++
	}
	for _, raw := range b {
		if key := string(jsonraw.Canonical(raw)); count[key] > 0 {
			count[key]-- // an equal entry is in both
		} else {
			c.add(Subject{kind, ""}, "entry-unreadable", "", nil, raw, detail{})
		}
	}
	for _, raw := range a {
		if key := string(jsonraw.Canonical(raw)); count[key] > 0 {
			count[key]--
			c.add(Subject{kind, ""}, "entry-dropped", "", raw, nil, detail{})
		}
	}
}

// compareUnmatched reports removed, added and probably renamed entries.
func (c *comparison) compareUnmatched(kind string, removed, added []entry) {
	renamed := c.findRenames(kind, removed, added)
	taken := map[int]bool{}
	for i, e := range removed {
		j, found := renamed[i]
		if !found {
			c.add(Subject{kind, e.name}, kind+"-removed", "", e.raw, nil, detail{})
			continue
		}
		taken[j] = true
		pointer := jsonraw.Pointer("", identifyingMember(kind))
		was := jsonraw.Quote(e.name)
		is := jsonraw.Quote(added[j].name)
		c.add(Subject{kind, e.name}, kind+"-renamed", pointer, was, is, detail{})
		c.compareDefinition(Subject{kind, added[j].name}, e, added[j])
	}
	for j, e := range added {
		if taken[j] {
			continue
		}
		c.add(Subject{kind, e.name}, kind+"-added", "", nil, e.raw, detail{})
		c.addPoison(Subject{kind, e.name}, nil, e.raw)
	}
}

// Limits of the search for renames.
const (
	minSimilarity = 0.8      // descriptions of a renamed definition are more similar than this
	maxCells      = 20 << 20 // of the word tables of all comparisons
	maxTies       = 50       // equally similar candidates for one removed definition
)

// findRenames maps indexes of removed to the indexes of added that are probably the same
// definition under a new name: they have the same schema, and descriptions whose similarity is
// above minSimilarity. Pairs with similar names have precedence, and definitions without a
// description need similar names.
func (c *comparison) findRenames(kind string, removed, added []entry) map[int]int {
	addedByKey := map[string][]int{}
	if len(removed) > 0 {
		for j, e := range added {
			key := renameKey(kind, e)
			addedByKey[key] = append(addedByKey[key], j)
		}
	}
	renamed := map[int]int{}
	taken := map[int]bool{}
	for _, byName := range []bool{true, false} { // pairs with similar names first
		for i, e := range removed {
			_, isFound := renamed[i]
			hasNothingToCompare := !byName && e.members.Text("description") == ""
			if isFound || hasNothingToCompare {
				continue
			}
			j, found := c.mostSimilar(e, added, addedByKey[renameKey(kind, e)], taken, byName)
			if found {
				renamed[i] = j
				taken[j] = true
			}
		}
	}
	return renamed
}

// mostSimilar returns the candidate, an index of added, whose description is most similar to e's.
// It ignores candidates in taken. It breaks ties by the most similar name if byName is set, else
// by position. It reports false if no description, or with byName no name, is similar enough.
func (c *comparison) mostSimilar(
	e entry, added []entry, candidates []int, taken map[int]bool, byName bool,
) (index int, found bool) {
	best := minSimilarity
	var names []string // of the best candidates
	indexes := map[string]int{}
	for _, j := range candidates {
		c.cellsUsed++ // also a candidate that is not compared takes time
		if c.cellsUsed > maxCells {
			break
		}
		if taken[j] {
			continue
		}
		similarity := c.similarity(e, added[j])
		if similarity > best {
			best = similarity
			names = nil
			clear(indexes)
		}
		if similarity == best && similarity > minSimilarity && len(names) < maxTies {
			names = append(names, added[j].name)
			indexes[added[j].name] = j
		}
	}
	if len(names) == 0 {
		return 0, false
	}
	name := names[0]
	if byName {
		name = suggest.Nearest(e.name, names)
	}
	index, found = indexes[name]
	return index, found
}

// similarity returns the similarity of two descriptions, from 0 to 1. It returns 0 if the
// comparison would exceed maxCells.
func (c *comparison) similarity(a, b entry) float64 {
	was := a.members.Text("description")
	is := b.members.Text("description")
	if was == is {
		return 1
	}
	c.cellsUsed += (len(was)/4 + 1) * (len(is)/4 + 1) // at about four bytes a word
	if c.cellsUsed > maxCells {
		return 0
	}
	share, _ := changedWords(was, is)
	return 1 - share
}

// renameKey returns the members that a rename does not change, in canonical form.
func renameKey(kind string, e entry) string {
	var members []string
	switch kind {
	case Tool:
		members = []string{"inputSchema", "outputSchema"}
	case Prompt:
		members = []string{"arguments"}
	default:
		members = []string{"name", "mimeType"}
	}
	var key strings.Builder
	for _, name := range members {
		key.Write(jsonraw.Canonical(e.members.Value(name)))
		key.WriteByte(0)
	}
	return key.String()
}
