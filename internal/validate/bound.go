package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The library evaluates a schema without a budget, cannot be interrupted, and
// calls itself: a schema of one line can keep it busy until the sun goes out,
// or nest its calls until Go ends the process for the size of its stack, which
// no recover catches. A timer would not help. It gives the answer on a fast
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
// A unit is about 50 nanoseconds of evaluation in the worst cases that could be
// made up, and far less in ordinary ones.
const (
	maxWork = 2_000_000
	// maxFrames bounds how deep the library's calls nest, a kilobyte or two
	// of stack each.
	maxFrames = 20_000
)

// What one evaluation of a subschema costs by itself, in units.
const (
	visitWork  = 8 // any
	memberWork = 2 // for each member of the object
)

// An account is the count for one value.
type account struct{ spent int }

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
	var acc account
	if acc.walk(value, []entry{{rule: b.of[root], times: 1}}, 0) {
		return nil
	}
	return &SchemaError{
		Reason: TooComplex,
		Text:   fmt.Sprintf("schema too complex: checking this value could take more than %d units of work", maxWork),
	}
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
	entries = expand(v, entries)
	for i := range entries {
		e := &entries[i]
		if e.frames > maxFrames || !acc.charge(e.times, e.cost(v, depth)) {
			return false
		}
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return !e.rule.accepts(v) })
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
func expand(v any, entries []entry) []entry {
	if len(entries) == 1 && len(entries[0].rule.here) == 0 && len(entries[0].rule.if_) == 0 {
		return entries
	}
	sums := map[*rule]*entry{}
	var order []*rule
	for todo := ruleset(entries); len(todo) > 0; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if sums[r] == nil {
			sums[r] = &entry{rule: r}
			order = append(order, r)
			todo = append(todo, r.applied(v)...)
		}
	}
	for _, e := range entries {
		sums[e.rule].add(e)
	}
	slices.SortFunc(order, func(a, b *rule) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]entry, len(order))
	for i, r := range order {
		out[i] = *sums[r]
		for _, sub := range r.applied(v) {
			e := out[i]
			e.hops++
			sums[sub].add(e.called(sub))
		}
	}
	return out
}

func ruleset(entries []entry) []*rule {
	rules := make([]*rule, len(entries))
	for i, e := range entries {
		rules[i] = e.rule
	}
	return rules
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
	s := e.rule.schema
	e.leftovers = e.leftovers || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
	e.rule = sub
	e.frames++
	return e
}

// inside is the entry for a rule that this one applies to a part of the value.
func (e entry) inside(sub *rule) entry {
	return entry{rule: sub, times: e.times, frames: e.frames + 1}
}

// accepts says whether evaluation gets past "type".
func (r *rule) accepts(v any) bool {
	if r.types == nil {
		return true
	}
	t := typeName(v)
	return slices.Contains(r.types, t) || t == "number" && slices.Contains(r.types, "integer")
}

// applied lists the rules that this one applies to a certain value.
func (r *rule) applied(v any) []*rule {
	if !r.accepts(v) {
		return nil
	}
	obj, ok := v.(map[string]any)
	if !ok || len(r.if_) == 0 {
		return r.here
	}
	all := slices.Clone(r.here)
	for _, dep := range r.if_ {
		if _, ok := obj[dep.member]; ok {
			all = append(all, dep.rule)
		}
	}
	return all
}

// cost is what one evaluation takes, without those that it leads to.
func (e *entry) cost(v any, depth int) int {
	r := e.rule
	if r.schema.Bool != nil {
		return visitWork / 2
	}
	work := visitWork + e.hops/8 // the library looks for itself among its callers
	work += depth / 4            // an error copies its location
	if r.dynamic {
		work += e.frames / 8
	}
	digits := 0
	if n, ok := v.(json.Number); ok {
		digits = magnitude(n)
		work += numberWork(digits) // for "integer"
	}
	if !r.accepts(v) {
		return work
	}
	work += r.choices + r.numbers*2*numberWork(max(digits, r.digits))
	switch v := v.(type) {
	case json.Number:
		work += r.limits * 2 * numberWork(digits+r.digits)
	case string:
		work += r.stringWork(v)
	case []any:
		work += e.arrayWork(v)
	case map[string]any:
		work += e.objectWork(v)
	}
	return work
}

func (r *rule) stringWork(s string) int {
	work := len(s) / 100 // the library copies strings, and counts characters
	if p, ok := r.schema.Pattern.(*pattern); ok {
		work += matchWork(p, s)
	}
	return work
}

// matchWork is what a regular expression costs in the worst of Go's engines,
// which at every character may hold every instruction.
func matchWork(p *pattern, s string) int {
	return 4 + (p.size+4)*len(s)/4
}

func (e *entry) arrayWork(items []any) int {
	work := len(items) / 4
	if e.leftovers || e.rule.schema.UnevaluatedItems != nil {
		work += 4 * len(items)
	}
	if e.rule.unique {
		work += keyWork(items)
	}
	return work
}

func (e *entry) objectWork(obj map[string]any) int {
	s, patterns := e.rule.schema, e.rule.patterns
	work := memberWork*len(obj) + len(s.Required)/2
	if len(obj) > 0 && len(patterns) > maxWork/len(obj) {
		return maxWork + 1
	}
	if e.leftovers || s.UnevaluatedProperties != nil {
		work += 6 * len(obj)
	}
	for name := range obj {
		work += len(name) / 50
		for _, n := range patterns {
			work += matchWork(n.pattern, name)
		}
	}
	for _, names := range s.DependentRequired {
		work += len(names)/2 + 1
	}
	for _, names := range s.Dependencies {
		if list, ok := names.([]string); ok {
			work += len(list)/2 + 1
		}
	}
	return work
}

// keyWork is what uniqueItems costs.
func keyWork(v any) int {
	work := 4
	switch v := v.(type) {
	case string:
		work += len(v) / 20
	case json.Number:
		work += 4 * numberWork(magnitude(v))
	case []any:
		for _, item := range v {
			work += keyWork(item)
		}
	case map[string]any:
		for name, item := range v {
			work += 6 + len(name)/20 + keyWork(item)
		}
	}
	return work
}
