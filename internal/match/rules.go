package match

import (
	"slices"
	"strings"
	"sync"

	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/yaml"
)

// Rules are the matchers of a file, in sections. The zero value and nil have none.
type Rules struct{ Sections []Section }

// A Section has the matchers for the messages of one method.
type Section struct {
	// Method is "*" for all methods.
	Method string
	// Name is that of a tool or a prompt, or a resource's URI; "" for all.
	Name  string
	Rules []Rule
}

// A Rule is a matcher and the path of the values that it is for. Where several paths lead to
// one value, that with an index counts before that with [], and then that of the section
// that says more.
type Rule struct {
	Part    Part
	Path    jsonvalue.Path
	Matcher Matcher
	// Place is where the rule begins in its file; zero where it is of none.
	Place yaml.Place
}

// handle is the kind of the handle for which the rule is, "" where it is for none.
func (r *Rule) handle() string {
	if r != nil && (r.Matcher.Kind == Bound || r.Matcher.Kind == Protocol) {
		return r.Matcher.Arg
	}
	return ""
}

// A branch is what is to be done with the values to which the first steps of some paths lead.
type branch struct {
	names map[string]*branch
	items map[int]*branch
	each  *branch
	rule  *Rule
	// empty is set where an empty object is the same as none.
	empty bool
}

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

func childOf[K comparable](all map[K]*branch, key K) *branch {
	if all[key] == nil {
		all[key] = &branch{}
	}
	return all[key]
}

func (b *branch) at(path jsonvalue.Path) *branch {
	for _, step := range path {
		b = b.next(step)
	}
	return b
}

// branches are those that apply to one value, the one that counts most first.
type branches []*branch

func (b branches) rule() *Rule {
	for _, one := range b {
		if one.rule != nil {
			return one.rule
		}
	}
	return nil
}

// kind is that of the matcher, "" where there is none.
func (b branches) kind() Kind {
	if rule := b.rule(); rule != nil {
		return rule.Matcher.Kind
	}
	return ""
}

func (b branches) empty() bool {
	for _, one := range b {
		if one.empty {
			return true
		}
	}
	return false
}

func (b branches) member(name string) (next branches) {
	for _, one := range b {
		if under := one.names[name]; under != nil {
			next = append(next, under)
		}
	}
	return next
}

// item gives the branches of an item; i and j are its indexes on both sides. Where they
// differ no path with an index is about it.
func (b branches) item(i, j int) (next branches) {
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

// compile gathers what volatile.txt and the rules say about a part of a message, the rules
// first. The two revisions are those of the messages that are compared.
func compile(rules *Rules, part Part, method, name, was, is string) (on branches) {
	root := &branch{}
	for _, s := range rules.about(method, name) {
		for i, rule := range s.Rules {
			if rule.Part == part {
				root.at(rule.Path).rule = &s.Rules[i]
				on = branches{root}
			}
		}
	}
	return append(on, protocolOf(part, method, was, is)...)
}

// A protocolKey is what the members of the protocol depend on: a method and revisions of the
// table, or "".
type protocolKey struct {
	part            Part
	method, was, is string
}

// protocols are the branches for each protocolKey, of which there are as many as the table has.
var protocols sync.Map

// protocolOf gives the branches for the members of the protocol; nil where there are none.
func protocolOf(part Part, method, was, is string) branches {
	known := func(all []string, name string) string {
		if slices.Contains(all, name) {
			return name
		}
		return ""
	}
	t := table()
	key := protocolKey{part, known(t.methods, method), known(t.revisions, was), known(t.revisions, is)}
	if on, ok := protocols.Load(key); ok {
		return on.(branches)
	}
	var on branches
	root := &branch{}
	for _, v := range t.rows {
		inWas := v.in(was)
		inIs := v.in(is)
		if v.about(part, method) && (inWas || inIs) {
			root.protocol(v, inWas && inIs && (key.was == "") == (key.is == ""))
			on = branches{root}
		}
	}
	protocols.Store(key, on)
	return on
}

// protocol adds a line of volatile.txt; both is set where both revisions have the member, which is not
// known where one of them is not.
func (b *branch) protocol(v volatile, both bool) {
	action, of, _ := strings.Cut(v.action, ":")
	matcher := Matcher{Kind: Protocol}
	switch {
	case action == "empty":
		b.at(v.path).empty = true
		return
	case action == "name" || (action == "since" || action == "was") && both:
		return // compared as any other member
	case action == "was":
		matcher.pair = strings.Split(of, ",")
		of = ""
	case action == "time":
		matcher.Kind = Time
	case action == "bind":
		matcher.Kind = Bound
	}
	matcher.Arg = of
	b.at(v.path).rule = &Rule{Part: v.part, Path: v.path, Matcher: matcher}
}

// about gives the sections for a method and a name; those that say more come last.
func (r *Rules) about(method, name string) (all []Section) {
	if r == nil {
		return nil
	}
	for _, is := range []func(s Section) bool{
		func(s Section) bool { return s.Method == "*" },
		func(s Section) bool { return s.Method == method && s.Name == "" },
		func(s Section) bool { return s.Method == method && s.Name == name && name != "" },
	} {
		for _, s := range r.Sections {
			if is(s) {
				all = append(all, s)
			}
		}
	}
	return all
}
