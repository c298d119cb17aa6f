package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/diff/words"
	"mcpc/internal/jsonraw"
	"mcpc/internal/suggest"
)

// An entry is one definition of a list.
type entry struct {
	raw     json.RawMessage
	members jsonraw.Members
	// name is that of the subject, and key tells several of one name apart.
	name, key string
	index     int // in the list
}

// identifyingMember is the member that identifies a definition.
func identifyingMember(kind string) string {
	return map[string]string{Tool: "name", Prompt: "name", Resource: "uri", Template: "uriTemplate"}[kind]
}

// parseEntries reads a list. What has no name is in unnamed.
func parseEntries(kind string, items []json.RawMessage) (named []entry, unnamed []json.RawMessage) {
	count := map[string]int{}
	for i, raw := range items {
		members, _ := jsonraw.Object(raw)
		name := members.Text(identifyingMember(kind))
		if name == "" {
			unnamed = append(unnamed, raw)
			continue
		}
		named = append(named, entry{raw, members, name, fmt.Sprintf("%s\x00%d", name, count[name]), i})
		count[name]++
	}
	return named, unnamed
}

// compareList compares two lists of one kind: first those of one name, then what is left over.
func (c *comparison) compareList(kind, member string, a, b []json.RawMessage) {
	was, unnamedWas := parseEntries(kind, a)
	is, unnamedIs := parseEntries(kind, b)
	c.compareUnnamed(kind, unnamedWas, unnamedIs)
	place := map[string]int{}
	for i, e := range is {
		place[e.key] = i
	}
	var removed []entry
	taken, order := make([]bool, len(is)), []int{}
	for _, e := range was {
		i, there := place[e.key]
		if !there {
			removed = append(removed, e)
			continue
		}
		taken[i] = true
		order = append(order, i)
		c.compareDefinition(Subject{kind, e.name}, e, is[i])
	}
	var added []entry
	for i, e := range is {
		if !taken[i] {
			added = append(added, e)
		}
	}
	c.compareUnmatched(kind, removed, added)
	if !c.sorted && !slices.IsSorted(order) {
		c.add(Subject{List, member}, "order-changed", "", listNames(was), listNames(is), detail{})
	}
}

func listNames(all []entry) json.RawMessage {
	return jsonraw.ListOf(all, func(e entry) []byte { return jsonraw.Quote(e.name) })
}

// compareUnnamed compares the entries that no client can use.
func (c *comparison) compareUnnamed(kind string, a, b []json.RawMessage) {
	count := map[string]int{}
	for _, raw := range a {
		count[string(jsonraw.Canonical(raw))]++
	}
	for _, raw := range b {
		if key := string(jsonraw.Canonical(raw)); count[key] > 0 {
			count[key]--
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

// compareUnmatched reports what was removed and added, and proposes which of them is the same under a new
// name.
func (c *comparison) compareUnmatched(kind string, removed, added []entry) {
	renamed, taken := c.findRenames(kind, removed, added), map[int]bool{}
	for i, e := range removed {
		j, found := renamed[i]
		if !found {
			c.add(Subject{kind, e.name}, kind+"-removed", "", e.raw, nil, detail{})
			continue
		}
		taken[j] = true
		pointer := jsonraw.Pointer("", identifyingMember(kind))
		c.add(Subject{kind, e.name}, kind+"-renamed", pointer, jsonraw.Quote(e.name), jsonraw.Quote(added[j].name), detail{})
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

// Limits of looking for renames.
const (
	minSimilarity = 0.8      // the similarity above which two descriptions are nearly the same (D3)
	maxCells      = 20 << 20 // of the word tables of all comparisons
	maxTies       = 50       // that are as near to one that was removed
)

// findRenames gives for indexes of removed the index of what it probably became: the same schema,
// and a description that is more than mostAlike similar. Those whose names are near each other
// too come first; without descriptions only they do.
func (c *comparison) findRenames(kind string, removed, added []entry) map[int]int {
	forms := map[string][]int{}
	if len(removed) > 0 {
		for j, e := range added {
			form := renameKey(kind, e)
			forms[form] = append(forms[form], j)
		}
	}
	renamed, taken := map[int]int{}, map[int]bool{}
	for _, near := range []bool{true, false} {
		for i, e := range removed {
			if _, done := renamed[i]; done || !near && e.members.Text("description") == "" {
				continue
			}
			if j, found := c.mostSimilar(e, added, forms[renameKey(kind, e)], taken, near); found {
				renamed[i], taken[j] = j, true
			}
		}
	}
	return renamed
}

// mostSimilar is the one of some entries whose description is most similar to that of e; of several
// the one with the nearest name, or without near the first.
func (c *comparison) mostSimilar(e entry, added []entry, some []int, taken map[int]bool, near bool) (int, bool) {
	best, names, at := minSimilarity, []string{}, map[string]int{}
	for _, j := range some {
		if c.cells++; c.cells > maxCells {
			break
		}
		if taken[j] {
			continue
		}
		alike := c.similarity(e, added[j])
		if alike > best {
			best, names, at = alike, nil, map[string]int{}
		}
		if alike == best && alike > minSimilarity && len(names) < maxTies {
			names, at[added[j].name] = append(names, added[j].name), j
		}
	}
	if len(names) == 0 {
		return 0, false
	}
	name := names[0]
	if near {
		name = suggest.Nearest(e.name, names)
	}
	j, found := at[name]
	return j, found
}

// similarity is how similar two descriptions are, from 0 to 1; 0 where comparing them would be too
// much work.
func (c *comparison) similarity(a, b entry) float64 {
	was, is := a.members.Text("description"), b.members.Text("description")
	if was == is {
		return 1
	}
	c.cells += (len(was)/4 + 1) * (len(is)/4 + 1)
	if c.cells > maxCells {
		return 0
	}
	share, _ := words.Changed(was, is)
	return 1 - share
}

// renameKey is what has to be the same of two definitions for one to be the other renamed.
func renameKey(kind string, e entry) string {
	members := map[string][]string{Tool: {"inputSchema", "outputSchema"}, Prompt: {"arguments"}}[kind]
	if members == nil {
		members = []string{"name", "mimeType"}
	}
	var form strings.Builder
	for _, name := range members {
		form.Write(jsonraw.Canonical(e.members.Value(name)))
		form.WriteByte(0)
	}
	return form.String()
}
