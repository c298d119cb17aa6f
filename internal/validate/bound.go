package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library evaluates a schema without a budget, cannot be interrupted, and
// calls itself: a schema of one line can keep it busy for years, or nest its
// calls until Go ends the process for the size of its stack, which no recover
// catches. A timer would not help. It gives the answer on a fast
// machine and none on a slow one, and the goroutine that it gives up on runs on.
//
// So the work is counted before any of it is done. A walk goes down the value
// once and carries along, for each place in it, which subschemas the library
// will apply there and how many times. Two ways to come to the same subschema
// at the same place are one entry with a sum, so the walk stays short where the
// evaluation multiplies; and since it counts at least what it walks, it ends
// at the limit if not before. What the library skips (the rest of an anyOf that
// has matched) is counted, too: the count is a bound, and the same on every
// machine and in every run.
//
// A unit is some 80 nanoseconds of evaluation in the worst cases that could be
// made up, and 20 in ordinary ones, on two cores of 2026; a subschema that looks
// at one value takes 10.
const (
	maxWork = 2_000_000
	// maxFrames bounds how deep the library's calls nest, a kilobyte or two
	// of stack each.
	maxFrames = 10_000
)

// An account is the count for one value.
type account struct {
	spent int
	// While the entries of one place are expanded, order has their rules, and
	// slots, by rank, where they stand in arena. There the entries of all places
	// are stacked that the walk is in.
	slots []int
	order []*rule
	arena []entry
}

// An entry says that a rule applies at some place.
type entry struct {
	rule  *rule
	times int
	// frames and hops are the depth of calls, in all and on this value.
	frames, hops int
	// leftovers: what is unevaluated will be asked for.
	leftovers bool
}

// afford refuses a value on which the schema would take too much work.
func (b *rulebook) afford(root *jsonschema.Schema, value any) error {
	if b.work(root, value) <= maxWork {
		return nil
	}
	return &SchemaError{
		Reason: TooComplex,
		Text:   fmt.Sprintf("schema too complex for this value: checking it could take more than %d units of work", maxWork),
	}
}

// work is the bound, or more than maxWork if it is not affordable.
func (b *rulebook) work(root *jsonschema.Schema, value any) int {
	acc := account{slots: make([]int, len(b.of))}
	if !acc.walk(value, []entry{{rule: b.of[root], times: 1}}, 0) {
		return maxWork + 1
	}
	return acc.spent
}

// charge adds to the count and says whether it is still affordable.
func (acc *account) charge(times, each int) bool {
	if times > maxWork || each > maxWork/times {
		return false
	}
	acc.spent += times * each
	return acc.spent <= maxWork
}

// walk counts what the entries cost on a value and on everything inside of it.
func (acc *account) walk(v any, entries []entry, depth int) bool {
	defer func(mark int) { acc.arena = acc.arena[:mark] }(len(acc.arena))
	t := typeOf(v)
	entries = acc.expand(v, t, entries)
	for i := range entries {
		e := &entries[i]
		if e.frames > maxFrames || !acc.charge(e.times, e.cost(v, t, depth)) {
			return false
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return acc.walkObject(v, entries, depth+1)
	case []any:
		return acc.walkArray(v, entries, depth+1)
	}
	return true
}

// expand adds what the entries apply to the same value in turn. Rules come out
// in the order of rank, each of them once and with all its times.
func (acc *account) expand(v any, t typeSet, entries []entry) []entry {
	if len(entries) == 1 && len(entries[0].rule.here) == 0 && len(entries[0].rule.when) == 0 {
		return entries
	}
	acc.collect(v, t, entries)
	mark := len(acc.arena)
	for i, r := range acc.order {
		acc.slots[r.rank] = mark + i
		acc.arena = append(acc.arena, entry{rule: r})
	}
	for _, e := range entries {
		acc.arena[acc.slots[e.rule.rank]].add(e)
	}
	for i, r := range acc.order {
		e := acc.arena[mark+i]
		for _, sub := range r.applied(v, t) {
			acc.arena[acc.slots[sub.rank]].add(e.called(sub))
		}
	}
	for _, r := range acc.order {
		acc.slots[r.rank] = 0
	}
	return acc.arena[mark:]
}

// collect puts into order every rule that the entries come to on a value.
func (acc *account) collect(v any, t typeSet, entries []entry) {
	acc.order = acc.order[:0]
	add := func(r *rule) {
		if acc.slots[r.rank] == 0 {
			acc.slots[r.rank] = 1
			acc.order = append(acc.order, r)
		}
	}
	for _, e := range entries {
		add(e.rule)
	}
	for i := 0; i < len(acc.order); i++ {
		for _, sub := range acc.order[i].applied(v, t) {
			add(sub)
		}
	}
	byRank := func(a, b *rule) int { return cmp.Compare(a.rank, b.rank) }
	if !slices.IsSortedFunc(acc.order, byRank) {
		slices.SortFunc(acc.order, byRank)
	}
}

// add merges another way to come to the same rule.
func (e *entry) add(other entry) {
	e.times = min(e.times+other.times, maxWork+1)
	e.frames = max(e.frames, other.frames)
	e.hops = max(e.hops, other.hops)
	e.leftovers = e.leftovers || other.leftovers
}

// called is the entry for a rule that this one applies to the same value.
func (e entry) called(sub *rule) entry {
	e.leftovers = e.leftovers || e.rule.leftover != nil || e.rule.remainder != nil
	e.rule = sub
	e.frames++
	e.hops++
	return e
}

// inside is the entry for a rule that this one applies to a part of the value.
func (e *entry) inside(sub *rule) entry {
	return entry{rule: sub, times: e.times, frames: e.frames + 1}
}

// applied lists the rules that this one applies to a certain value.
func (r *rule) applied(v any, t typeSet) []*rule {
	if r.types&t == 0 {
		return nil
	}
	obj, ok := v.(map[string]any)
	if !ok || len(r.when) == 0 {
		return r.here
	}
	all := slices.Clone(r.here)
	for _, dep := range r.when {
		if _, ok := obj[dep.member]; ok {
			all = append(all, dep.rule)
		}
	}
	return all
}
