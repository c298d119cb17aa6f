package validate

import "slices"

// walkObject goes into the members of an object.
func (acc *account) walkObject(obj map[string]any, entries []entry, depth int) bool {
	entries = keep(entries, objectType, (*rule).looksAtMembers)
	if len(entries) == 0 {
		return true
	}
	var next, names []entry
	for name, v := range obj {
		next, names = next[:0], names[:0]
		for _, e := range entries {
			next = e.enterMember(name, next)
			if e.rule.names != nil {
				names = append(names, e.inside(e.rule.names))
			}
		}
		if len(next) > 0 && !acc.walk(v, next, depth) {
			return false
		}
		if len(names) > 0 && !acc.walk(name, names, depth) {
			return false
		}
	}
	return true
}

// walkArray goes into the items of an array.
func (acc *account) walkArray(items []any, entries []entry, depth int) bool {
	entries = keep(entries, arrayType, (*rule).looksAtItems)
	if len(entries) == 0 {
		return true
	}
	var next []entry
	for i, v := range items {
		next = next[:0]
		for _, e := range entries {
			next = e.enterItem(i, next)
		}
		if len(next) > 0 && !acc.walk(v, next, depth) {
			return false
		}
	}
	return true
}

// keep drops the entries that do not go into a value of some type.
func keep(entries []entry, t typeSet, goesIn func(*rule) bool) []entry {
	return slices.DeleteFunc(entries, func(e entry) bool { return e.rule.types&t == 0 || !goesIn(e.rule) })
}

func (r *rule) looksAtMembers() bool {
	return r.members != nil || r.patterns != nil || r.additional != nil || r.leftover != nil || r.names != nil
}

func (r *rule) looksAtItems() bool {
	return r.prefix != nil || r.items != nil || r.contains != nil || r.remainder != nil
}

// enterMember adds what an entry applies to a member.
func (e *entry) enterMember(name string, next []entry) []entry {
	r := e.rule
	sub, evaluated := r.members[name]
	if evaluated {
		next = append(next, e.inside(sub))
	}
	for _, n := range r.patterns {
		if n.pattern.MatchString(name) {
			evaluated = true
			if n.rule != nil {
				next = append(next, e.inside(n.rule))
			}
		}
	}
	if !evaluated && r.additional != nil {
		next = append(next, e.inside(r.additional))
	}
	if r.leftover != nil {
		next = append(next, e.inside(r.leftover))
	}
	return next
}

// enterItem adds what an entry applies to an item.
func (e *entry) enterItem(i int, next []entry) []entry {
	r := e.rule
	if i < len(r.prefix) {
		next = append(next, e.inside(r.prefix[i]))
	} else if r.items != nil {
		next = append(next, e.inside(r.items))
	}
	if r.contains != nil {
		next = append(next, e.inside(r.contains))
	}
	if r.remainder != nil {
		next = append(next, e.inside(r.remainder))
	}
	return next
}
