package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// compareServer compares everything except the lists. It skips parts that one snapshot lacks.
func (c *comparison) compareServer(a, b Snapshot) {
	if a.Implementation != nil && b.Implementation != nil {
		was := withoutNulls(a.Implementation)
		is := withoutNulls(b.Implementation)
		c.eachChangedMember(was, is, func(name string, was, is json.RawMessage) {
			c.add(Subject{Server, ""}, "server-changed", jsonraw.Pointer("", name), was, is, detail{note: displayText(name)})
		})
	}
	if a.Revisions != nil && b.Revisions != nil {
		c.compareRevisions(a.Revisions, b.Revisions)
	}
	if a.Authorization != nil && b.Authorization != nil && *a.Authorization != *b.Authorization {
		rule := "authorization-removed"
		if *b.Authorization {
			rule = "authorization-added"
		}
		was := json.RawMessage(strconv.FormatBool(*a.Authorization))
		is := json.RawMessage(strconv.FormatBool(*b.Authorization))
		c.add(Subject{Authorization, ""}, rule, "", was, is, detail{})
	}
	if a.Capabilities != nil && b.Capabilities != nil {
		c.compareCapabilities(a.Capabilities, b.Capabilities, nil)
	}
	if a.Instructions != nil && b.Instructions != nil {
		c.compareText(Subject{Instructions, ""}, "instructions", "", a.Instructions, b.Instructions, "")
		c.addPoison(Subject{Instructions, ""}, a.Instructions, b.Instructions)
	}
	if a.TTL != nil && b.TTL != nil {
		c.compareTTL(a, b)
	}
}

// eachChangedMember calls report for each member name whose values differ between two objects, sorted
// by name. A value that is not an object has no members.
func (c *comparison) eachChangedMember(a, b json.RawMessage, report func(name string, was, is json.RawMessage)) {
	was, _ := jsonraw.Object(a)
	is, _ := jsonraw.Object(b)
	// Implementations disagree on which of two members with one name counts, so all of them are
	// compared.
	values := map[string]*[2][]json.RawMessage{} // by name: the values in a, and the values in b
	for i, members := range []jsonraw.Members{was, is} {
		for _, m := range members {
			if values[m.Name] == nil {
				values[m.Name] = &[2][]json.RawMessage{}
			}
			values[m.Name][i] = append(values[m.Name][i], m.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		before := values[name][0]
		after := values[name][1]
		if !slices.EqualFunc(before, after, isSameJSON) {
			report(name, joinValues(before), joinValues(after))
		}
	}
}

// joinValues returns nil if values is empty, the only value, or a JSON list of several.
func joinValues(values []json.RawMessage) json.RawMessage {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return values[0]
	}
	return jsonraw.List(values)
}

// isSameJSON reports whether two values have the same canonical form.
func isSameJSON(a, b json.RawMessage) bool {
	return string(a) == string(b) || string(jsonraw.Canonical(a)) == string(jsonraw.Canonical(b))
}

// toSet returns the set of texts.
func toSet(texts []string) map[string]bool {
	all := map[string]bool{}
	for _, text := range texts {
		all[text] = true
	}
	return all
}

// compareRevisions adds a change for each removed and each added revision.
func (c *comparison) compareRevisions(a, b []string) {
	was := toSet(a)
	is := toSet(b)
	for _, revision := range a {
		if !is[revision] {
			c.add(Subject{Revision, revision}, "revision-removed", "", quoteOrNil(revision), nil, detail{})
		}
	}
	for _, revision := range b {
		if !was[revision] {
			c.add(Subject{Revision, revision}, "revision-added", "", nil, quoteOrNil(revision), detail{})
		}
	}
}

// compareCapabilities compares two capability objects. A capability is declared by its member,
// unless the value is false or null. Below an extension or an experimental capability all members
// are settings.
func (c *comparison) compareCapabilities(a, b json.RawMessage, path []string) {
	c.eachChangedMember(a, b, func(name string, was, is json.RawMessage) {
		path := append(slices.Clone(path), name)
		s := Subject{Capability, strings.Join(path, ".")}
		pointer := jsonraw.Pointer("", path...)
		maxDepth := 4 // names in a path; deeper objects are settings
		if path[0] == "extensions" || path[0] == "experimental" {
			maxDepth = 2
		}
		switch {
		case !isDeclared(was) && !isDeclared(is):
			// null and false both mean that the capability is missing.
		case !isDeclared(was):
			c.add(s, "capability-added", pointer, was, is, detail{})
		case !isDeclared(is) && path[0] == "experimental":
			c.add(s, "capability-experimental-removed", pointer, was, is, detail{})
		case !isDeclared(is):
			c.add(s, "capability-removed", pointer, was, is, detail{})
		case was[0] == '{' && is[0] == '{' && len(path) < maxDepth:
			c.compareCapabilities(was, is, path)
		default:
			c.add(s, "capability-changed", pointer, was, is, detail{})
		}
	})
}

// isDeclared reports whether a value is present and neither false nor null.
func isDeclared(value json.RawMessage) bool {
	return value != nil && string(value) != "false" && string(value) != "null"
}

// compareTTL compares the ttlMs of the lists. It skips lists that only one snapshot has.
func (c *comparison) compareTTL(a, b Snapshot) {
	knownLists := func(s Snapshot) map[string]bool {
		return map[string]bool{
			"tools":             s.Tools != nil,
			"prompts":           s.Prompts != nil,
			"resources":         s.Resources != nil,
			"resourceTemplates": s.Templates != nil,
		}
	}
	inA := knownLists(a)
	inB := knownLists(b)
	names := maps.Clone(a.TTL)
	maps.Copy(names, b.TTL)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		isInBoth := inA[name] == inB[name] // or unknown in both
		if !isInBoth || a.TTL[name] == b.TTL[name] {
			continue
		}
		rule := "ttl-lengthened"
		if b.TTL[name] < a.TTL[name] {
			rule = "ttl-shortened"
		}
		was := strconv.AppendInt(nil, a.TTL[name], 10)
		is := strconv.AppendInt(nil, b.TTL[name], 10)
		c.add(Subject{List, name}, rule, "/ttlMs", was, is, detail{})
	}
}

// The limits below which a change of a text is harmless. The limit in bytes is needed as well: an
// instruction for a model can be a small share of a long text, or one word of a language without
// spaces.
const (
	maxChangedShare = 0.2 // of the words
	maxAddedBytes   = 100 // of all new words
)

// compareText compares two texts that a model reads. It adds what+"-rewritten" for a change above
// the limits, else what+"-reworded". place completes the sentence of the change.
func (c *comparison) compareText(s Subject, what, pointer string, was, is json.RawMessage, place string) {
	if isSameJSON(was, is) {
		return
	}
	a, okA := jsonraw.Text(was)
	b, okB := jsonraw.Text(is)
	wasOther := !okA && isDeclared(was) // a value that is neither a text nor absent
	isOther := !okB && isDeclared(is)
	if wasOther || isOther {
		c.add(s, "definition-changed", pointer, was, is, detail{note: what})
		return
	}
	share, added := changedWords(a, b)
	d := detail{place: place, note: fmt.Sprintf("%.0f %% of the words differ", 100*share)}
	switch {
	case !isDeclared(was):
		d.note = "there was none"
	case !isDeclared(is):
		d.note = "it was removed"
	case isMoved(a, b):
		d.note = "only the order of words or their punctuation differs"
	case share == 0:
		d.note = "only blanks differ"
	case share > maxChangedShare:
		d.note += fmt.Sprintf(" (more than %.0f %%)", 100*maxChangedShare)
	case added > maxAddedBytes:
		d.note += fmt.Sprintf(", and the new ones have %d bytes (more than %d)", added, maxAddedBytes)
	}
	if share > maxChangedShare || added > maxAddedBytes {
		c.add(s, what+"-rewritten", pointer, was, is, d)
	} else {
		c.add(s, what+"-reworded", pointer, was, is, d)
	}
}
