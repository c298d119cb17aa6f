package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/wire"
)

// The library evaluates a schema without a budget and cannot be interrupted: a schema
// of one line can keep it busy for years. A timer would not help: it gives the answer
// on a fast machine and none on a slow one, and the goroutine that it gives up on
// runs on.
//
// So each subschema gets a "format", which the library calls before it goes into other
// subschemas. The call pays for all of them in advance, and panics when the budget is
// spent; guard turns that into the error. The library also calls itself, and Go ends
// the process when a stack grows too large, which no recover catches: that depth is
// bounded before the check begins.
//
// A unit is at most some 80 nanoseconds on two cores of 2026.
const (
	maxWork    = 2_000_000
	visitWork  = 10 // one evaluation of a subschema
	memberWork = 3  // each member of an object
	// maxFrames bounds how deep evaluations nest, a kilobyte or two of stack each.
	maxFrames = 30_000
)

var errSpent = &Error{
	Reason: TooComplex,
	Text:   fmt.Sprintf("schema too complex for this value: checking it takes more than %d units of work", maxWork),
}

// A budget counts the work of one check at a time.
type budget struct {
	mu    sync.Mutex
	left  int
	nodes map[*jsonschema.Schema]*node
	// height is the longest chain of subschemas that are applied to one value.
	height int
	// numbers: a subschema compares numbers. leftovers: one asks for what is unevaluated.
	numbers, leftovers bool
	// visit and digits belong to the value that is checked: what an evaluation costs
	// at least, and how long its longest number is.
	visit, frames, digits int
	graph                 *graph
}

// newBudget makes the budget of the checks by a compiled schema. from are the root and the
// other subschemas that a $dynamicRef may lead to. What cannot be checked is taken out of
// the schema, with a warning each. It refuses schemas that lead back to themselves without
// going into the value, and those that multiply.
func newBudget(root *jsonschema.Schema, from []*jsonschema.Schema, sv *survey) (*budget, []wire.Finding, error) {
	g := reach(root, from)
	if err := g.tangled(); err != nil {
		return nil, nil, err
	}
	warnings := g.loosen(sv.Doc)
	b, err := g.budget(sv.patterns)
	return b, warnings, err
}

// At is the subschema at a location of the library's, or nil.
func (b *budget) At(location string) *jsonschema.Schema {
	all := b.graph.all
	i, ok := slices.BinarySearchFunc(all, location, func(s *jsonschema.Schema, at string) int { return cmp.Compare(s.Location, at) })
	if !ok {
		return nil
	}
	return all[i]
}

// A node is a subschema with what its evaluation costs.
type node struct {
	schema   *jsonschema.Schema
	here     []*jsonschema.Schema // applied to the same value
	patterns []*jsonschema.Schema
	names    *jsonschema.Schema
	dynamic  bool
	choices  int // values in const and enum
	numbers  int // numbers that are read, written or compared
	digits   int // of the longest number in the schema
	// height and fan are how deep and how often subschemas are applied to one value.
	height, fan int
	busy        bool
}

// Run checks a value and ends when the budget is spent.
func (b *budget) Run(s *jsonschema.Schema, value any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	depth, digits := measure(value)
	b.left, b.digits, b.frames = maxWork, digits, (depth+2)*b.height
	// The library looks for a subschema among its callers, and an error copies its place.
	b.visit = visitWork + b.height/8 + depth/4
	return guard(func() error {
		if b.frames > maxFrames || b.numbers && digits > maxDigits {
			return errSpent
		}
		b.enter(s, 1)
		return s.Validate(value)
	})
}

// pay takes times × each from what is left.
func (b *budget) pay(times, each int) {
	if times > 0 && each > b.left/times {
		panic(errSpent)
	}
	b.left -= times * each
}

// enter pays for evaluating a subschema, without what it leads to.
func (b *budget) enter(s *jsonschema.Schema, times int) {
	n := b.nodes[s]
	if n == nil || times == 0 {
		return
	}
	b.pay(times, b.visit+n.choices)
	if n.dynamic {
		b.pay(times, b.frames/8) // it looks through all callers
	}
	if n.numbers > 0 {
		b.pay(times, n.numbers)
		b.pay(times*n.numbers, numberWork(max(b.digits, n.digits)))
	}
}

// charge pays for what a subschema does with a value, and for all that it enters there.
func (b *budget) charge(n *node, v any) {
	s := n.schema
	for _, sub := range n.here {
		b.enter(sub, 1)
	}
	switch v := v.(type) {
	case string:
		b.pay(1, len(v)/30)
	case []any:
		b.chargeArray(n, len(v))
	case map[string]any:
		b.pay(len(v), memberWork)
		b.pay(1, 2*len(s.Required)+len(s.Dependencies)+len(s.DependentSchemas)+len(s.DependentRequired))
		if b.leftovers {
			b.pay(len(v), 6*(1+len(n.here)))
		}
		for _, sub := range n.patterns {
			b.enter(sub, len(v))
		}
		for _, sub := range []*jsonschema.Schema{asSchema(s.AdditionalProperties), s.UnevaluatedProperties, n.names} {
			b.enter(sub, len(v))
		}
		for name := range v {
			b.pay(1, len(name)/50)
			b.enter(s.Properties[name], 1)
		}
		b.chargeRequired(s, v)
	}
}

func (b *budget) chargeArray(n *node, items int) {
	s := n.schema
	if b.leftovers {
		b.pay(items, 4*(1+len(n.here)))
	}
	for i, sub := range slices.Concat(s.PrefixItems, asSchemas(s.Items)) {
		if i < items {
			b.enter(sub, 1)
		}
	}
	for _, sub := range []*jsonschema.Schema{s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems), s.Contains, s.UnevaluatedItems} {
		b.enter(sub, items)
	}
}

// chargeRequired pays for looking up the names that other members require.
func (b *budget) chargeRequired(s *jsonschema.Schema, obj map[string]any) {
	for name, names := range s.DependentRequired {
		if _, ok := obj[name]; ok {
			b.pay(len(names), 2)
		}
	}
	for name, dep := range s.Dependencies {
		if names, ok := dep.([]string); ok && obj[name] != nil {
			b.pay(len(names), 2)
		}
	}
}

// budget makes a node of each subschema, and lets it pay.
func (g *graph) budget(ps *patterns) (*budget, error) {
	b := &budget{graph: g, left: maxWork, nodes: make(map[*jsonschema.Schema]*node, len(g.all))}
	for _, s := range g.all {
		n := &node{schema: s, here: g.here(s), dynamic: s.DynamicRef != nil || s.RecursiveRef != nil}
		for _, sub := range s.PatternProperties {
			n.patterns = append(n.patterns, sub)
		}
		n.extend(b)
		n.measure()
		b.nodes[s] = n
		b.numbers = b.numbers || n.numbers > 0
		b.leftovers = b.leftovers || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
	}
	for _, s := range g.all {
		if err := b.settle(b.nodes[s]); err != nil {
			return nil, err
		}
		b.height = max(b.height, b.nodes[s].height)
	}
	for _, s := range g.all {
		n := b.nodes[s]
		s.Format = &jsonschema.Format{Name: "work", Validate: func(v any) error { b.charge(n, v); return nil }}
	}
	ps.spend = b.pay
	return b, nil
}

// maxFan bounds how often one subschema may end up being applied to one value:
// ten levels of "allOf" with two references to the next level are a thousand.
const maxFan = 100_000

// settle finds the height and the fan of a node.
func (b *budget) settle(n *node) error {
	where, _ := pointerOf(n.schema.Location)
	switch {
	case n.busy:
		return tooComplex(where, "it refers to itself without descending into the value")
	case n.height > 0:
		return nil
	}
	n.busy, n.fan = true, 1
	for _, s := range n.here {
		sub := b.nodes[s]
		if err := b.settle(sub); err != nil {
			return err
		}
		n.height = max(n.height, sub.height)
		if n.fan += sub.fan; n.fan > maxFan {
			return tooComplex(where, "its subschemas multiply: they apply to one value more than %d times", maxFan)
		}
	}
	n.busy = false
	n.height++
	return nil
}

// measure counts the values that a schema compares with.
func (n *node) measure() {
	s := n.schema
	values, _ := valuesOf(s)
	for _, v := range values {
		n.measureValue(v)
	}
	for _, limit := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			n.numbers += 3
			n.digits = max(n.digits, limit.Num().BitLen()/3, limit.Denom().BitLen()/3)
		}
	}
	if s.MultipleOf != nil {
		n.numbers += 24 // a division, and the reduction of what comes out
	}
	if wantsWhole(s) {
		n.numbers++
	}
}

func (n *node) measureValue(v any) {
	n.choices++
	switch v := v.(type) {
	case string:
		n.choices += len(v) / 500
	case json.Number:
		n.numbers += 3
		n.digits = max(n.digits, magnitude(v))
	}
	for item := range parts(v) {
		n.measureValue(item)
	}
}

// measure gives the depth of a value and the length of its longest number.
func measure(v any) (depth, digits int) {
	if n, ok := v.(json.Number); ok {
		return 0, magnitude(n)
	}
	for item := range parts(v) {
		d, n := measure(item)
		depth, digits = max(depth, d+1), max(digits, n)
	}
	return depth, digits
}
