package match

import (
	"slices"
	"strings"
	"sync"

	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/yaml"
)

// Rules are the matchers of a file, in sections. The zero value and nil have no matchers.
type Rules struct{ Sections []Section }

// A Section has the matchers for the messages of one method.
type Section struct {
	// Method is "*" for all methods.
	Method string
	// Name is the name of a tool or prompt, or the URI of a resource; "" means all.
	Name  string
	Rules []Rule
}

// A Rule is a matcher with the path of its values. If several paths lead to one value, a path with
// an index has precedence over a path with [], and then the more specific section.
type Rule struct {
	Part    Part
	Path    jsonvalue.Path
	Matcher Matcher
	// Place is the position of the rule in its file; zero if it comes from no file.
	Place yaml.Place
}

// handleKind returns the kind of handle that the rule is about, or "".
func (r *Rule) handleKind() string {
	if r != nil && (r.Matcher.Kind == Bound || r.Matcher.Kind == Protocol) {
		return r.Matcher.Arg
	}
	return ""
}

// A branch is a node in the tree of rules. The steps to it are a prefix of the paths of the rules
// below it.
type branch struct {
	names map[string]*branch
	items map[int]*branch
	each  *branch
	rule  *Rule
	// empty is set if an empty object equals a missing one.
	empty bool
}

// next returns the branch after a step. It adds the branch if it does not exist.
func (b *branch) next(step jsonvalue.Step) *branch {
	if step.All {
		if b.each == nil {
			b.each = &branch{}
		}
		return b.each
	}
	if step.Item {
		if b.items == nil {
			b.items = map[int]*branch{}
		}
		return childOf(b.items, step.Index)
	}
	if b.names == nil {
		b.names = map[string]*branch{}
	}
	return childOf(b.names, step.Name)
}

// childOf returns the branch with a key. It adds the branch if it does not exist.
func childOf[K comparable](all map[K]*branch, key K) *branch {
	if all[key] == nil {
		all[key] = &branch{}
	}
	return all[key]
}

// atPath returns the branch at the end of a path. It adds the branches that do not exist.
func (b *branch) atPath(path jsonvalue.Path) *branch {
	for _, step := range path {
		b = b.next(step)
	}
	return b
}

// branches are the branches that apply to one value, by descending precedence.
type branches []*branch

// rule returns the rule with the highest precedence, or nil.
func (b branches) rule() *Rule {
	for _, one := range b {
		if one.rule != nil {
			return one.rule
		}
	}
	return nil
}

// kind returns the kind of the matcher that applies, or "".
func (b branches) kind() Kind {
	if rule := b.rule(); rule != nil {
		return rule.Matcher.Kind
	}
	return ""
}

// allowsEmpty reports whether an empty object equals a missing one.
func (b branches) allowsEmpty() bool {
	for _, one := range b {
		if one.empty {
			return true
		}
	}
	return false
}

// member returns the branches of a member.
func (b branches) member(name string) branches {
	var next branches
	for _, one := range b {
		if under := one.names[name]; under != nil {
			next = append(next, under)
		}
	}
	return next
}

// anyIndex is the index of an item whose position has no meaning. No path with an index leads to it.
const anyIndex = -1

// item returns the branches of an item. i and j are its indexes on both sides. If they differ, no
// path with an index applies.
func (b branches) item(i, j int) branches {
	var next branches
	for _, one := range b {
		if under := one.items[i]; under != nil && i == j {
			next = append(next, under)
		}
	}
	for _, one := range b {
		if one.each != nil {
			next = append(next, one.each)
		}
	}
	return next
}

// compile returns the branches for a part of a message: first of the rules, then of volatile.txt.
// recordedRevision and currentRevision are the revisions of the two messages. It returns nil if no
// rule is for this part.
func compile(rules *Rules, part Part, method, name, recordedRevision, currentRevision string) branches {
	root := &branch{}
	var scope branches
	for _, s := range rules.sectionsFor(method, name) {
		for i, rule := range s.Rules {
			if rule.Part == part {
				root.atPath(rule.Path).rule = &s.Rules[i] // replaces the rule of a less specific section
				scope = branches{root}
			}
		}
	}
	return append(scope, protocolRules(part, method, recordedRevision, currentRevision)...)
}

// A protocolKey is the cache key of protocolRules. A method or revision that the table lacks is "".
type protocolKey struct {
	part                                      Part
	method, recordedRevision, currentRevision string
}

// protocols caches the branches by protocolKey. The table bounds the number of keys.
var protocols sync.Map

// protocolRules returns the branches for the protocol's members, or nil.
func protocolRules(part Part, method, recordedRevision, currentRevision string) branches {
	known := func(all []string, name string) string {
		if slices.Contains(all, name) {
			return name
		}
		return ""
	}
	t := table()
	key := protocolKey{
		part:             part,
		method:           known(t.methods, method),
		recordedRevision: known(t.revisions, recordedRevision),
		currentRevision:  known(t.revisions, currentRevision),
	}
	if scope, ok := protocols.Load(key); ok {
		return scope.(branches)
	}
	var scope branches
	root := &branch{}
	for _, v := range t.rows {
		// Every row applies to an unknown revision.
		inRecorded := v.appliesToRevision(recordedRevision)
		inCurrent := v.appliesToRevision(currentRevision)
		if v.appliesTo(part, method) && (inRecorded || inCurrent) {
			// If only one revision is known, the other side may lack the member.
			isOneUnknown := (key.recordedRevision == "") != (key.currentRevision == "")
			root.addProtocolRule(v, inRecorded && inCurrent && !isOneUnknown)
			scope = branches{root}
		}
	}
	protocols.Store(key, scope)
	return scope
}

// addProtocolRule adds a line of volatile.txt, which explains the actions. isInBoth is set if both
// revisions have the member.
func (b *branch) addProtocolRule(v volatile, isInBoth bool) {
	action, argument, _ := strings.Cut(v.action, ":")
	matcher := Matcher{Kind: Protocol}
	switch {
	case action == "empty":
		b.atPath(v.path).empty = true
		return
	case action == "name" || (action == "since" || action == "was") && isInBoth:
		return // compared like every other member
	case action == "was":
		matcher.pair = strings.Split(argument, ",")
		argument = "" // it is no kind of a handle
	case action == "time":
		matcher.Kind = Time
	case action == "bind":
		matcher.Kind = Bound
	}
	matcher.Arg = argument
	b.atPath(v.path).rule = &Rule{Part: v.part, Path: v.path, Matcher: matcher}
}

// sectionsFor returns the sections for a method and a name, the more specific ones last.
func (r *Rules) sectionsFor(method, name string) []Section {
	if r == nil {
		return nil
	}
	var all []Section
	for _, applies := range []func(s Section) bool{
		func(s Section) bool { return s.Method == "*" },
		func(s Section) bool { return s.Method == method && s.Name == "" },
		func(s Section) bool { return s.Method == method && s.Name == name && name != "" },
	} {
		for _, s := range r.Sections {
			if applies(s) {
				all = append(all, s)
			}
		}
	}
	return all
}
