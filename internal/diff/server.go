package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/diff/words"
	"mcpc/internal/jsonraw"
)

// compareServer compares what is about the server as a whole.
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
		rule := map[bool]string{true: "authorization-added", false: "authorization-removed"}[*b.Authorization]
		c.add(Subject{Authorization, ""}, rule, "", json.RawMessage(strconv.FormatBool(*a.Authorization)), json.RawMessage(strconv.FormatBool(*b.Authorization)), detail{})
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

// eachChangedMember tells of each member of two objects whose values differ, sorted by name. What is
// not an object has no members.
func (c *comparison) eachChangedMember(a, b json.RawMessage, f func(name string, was, is json.RawMessage)) {
	was, _ := jsonraw.Object(a)
	is, _ := jsonraw.Object(b)
	// Peers differ in which of two members of one name counts: a second one is a part of the
	// definition.
	values := map[string]*[2][]json.RawMessage{}
	for i, members := range []jsonraw.Members{was, is} {
		for _, m := range members {
			if values[m.Name] == nil {
				values[m.Name] = &[2][]json.RawMessage{}
			}
			values[m.Name][i] = append(values[m.Name][i], m.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if x, y := values[name][0], values[name][1]; !slices.EqualFunc(x, y, isSameJSON) {
			f(name, joinValues(x), joinValues(y))
		}
	}
}

// joinValues is the only value, or a list of several; nil of none.
func joinValues(values []json.RawMessage) json.RawMessage {
	switch len(values) {
	case 0:
		return nil
	case 1:
		return values[0]
	}
	return jsonraw.List(values)
}

func isSameJSON(a, b json.RawMessage) bool {
	return string(a) == string(b) || string(jsonraw.Canonical(a)) == string(jsonraw.Canonical(b))
}

func toSet(texts []string) map[string]bool {
	all := map[string]bool{}
	for _, text := range texts {
		all[text] = true
	}
	return all
}

func (c *comparison) compareRevisions(a, b []string) {
	was, is := toSet(a), toSet(b)
	for _, r := range a {
		if !is[r] {
			c.add(Subject{Revision, r}, "revision-removed", "", quoteOrNil(r), nil, detail{})
		}
	}
	for _, r := range b {
		if !was[r] {
			c.add(Subject{Revision, r}, "revision-added", "", nil, quoteOrNil(r), detail{})
		}
	}
}

// compareCapabilities compares two objects of capabilities. The presence of a member is the
// capability, and false is its absence; what is below an extension or an experimental
// capability are its settings.
func (c *comparison) compareCapabilities(a, b json.RawMessage, path []string) {
	c.eachChangedMember(a, b, func(name string, was, is json.RawMessage) {
		path := append(slices.Clone(path), name)
		s, pointer := Subject{Capability, strings.Join(path, ".")}, jsonraw.Pointer("", path...)
		wasThere, isThere := isDeclared(was), isDeclared(is)
		free := path[0] == "extensions" || path[0] == "experimental"
		switch {
		case !wasThere && !isThere:
		case !wasThere:
			c.add(s, "capability-added", pointer, was, is, detail{})
		case !isThere && path[0] == "experimental":
			c.add(s, "capability-experimental-removed", pointer, was, is, detail{})
		case !isThere:
			c.add(s, "capability-removed", pointer, was, is, detail{})
		case was[0] == '{' && is[0] == '{' && len(path) < 4 && (!free || len(path) < 2):
			c.compareCapabilities(was, is, path)
		default:
			c.add(s, "capability-changed", pointer, was, is, detail{})
		}
	})
}

func isDeclared(value json.RawMessage) bool {
	return value != nil && string(value) != "false" && string(value) != "null"
}

// compareTTL compares the ttlMs of the lists, but for those that one side alone knows.
func (c *comparison) compareTTL(a, b Snapshot) {
	known := func(s Snapshot) map[string]bool {
		return map[string]bool{"tools": s.Tools != nil, "prompts": s.Prompts != nil, "resources": s.Resources != nil, "resourceTemplates": s.Templates != nil}
	}
	inA, inB := known(a), known(b)
	names := maps.Clone(a.TTL)
	maps.Copy(names, b.TTL)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := strconv.AppendInt(nil, a.TTL[name], 10), strconv.AppendInt(nil, b.TTL[name], 10)
		switch {
		case inA[name] != inB[name]:
		case b.TTL[name] < a.TTL[name]:
			c.add(Subject{List, name}, "ttl-shortened", "/ttlMs", was, is, detail{})
		case b.TTL[name] > a.TTL[name]:
			c.add(Subject{List, name}, "ttl-lengthened", "/ttlMs", was, is, detail{})
		}
	}
}

// maxChangedShare is the share of words that may change without being a risk, and mostAdded how many bytes new words may
// have: an order to a model fits into a small part of a long text, and into one word of a language without blanks.
const (
	maxChangedShare = 0.2
	maxAddedBytes   = 100
)

// compareText compares two texts that a model reads. what is the begin of the two rules, and place
// says which text it is.
func (c *comparison) compareText(s Subject, what, pointer string, was, is json.RawMessage, place string) {
	if isSameJSON(was, is) {
		return
	}
	a, okA := jsonraw.Text(was)
	b, okB := jsonraw.Text(is)
	if !okA && isDeclared(was) || !okB && isDeclared(is) {
		c.add(s, "definition-changed", pointer, was, is, detail{note: what})
		return
	}
	share, added := words.Changed(a, b)
	d := detail{place: place, note: fmt.Sprintf("%.0f %% of the words differ", 100*share)}
	switch {
	case !isDeclared(was):
		d.note = "there was none"
	case !isDeclared(is):
		d.note = "there is none any more"
	case words.IsMoved(a, b):
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
