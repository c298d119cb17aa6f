package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// The library evaluates a schema without a budget and cannot be interrupted: a schema of one line can keep it busy for
// years. A timer would not help: it gives the answer on a fast machine and none on a slow one, and the goroutine that
// it gives up on runs on.
//
// So each subschema gets a "format", which the library calls before it evaluates other subschemas. The call pays for
// all of them in advance, and panics when the budget is spent; guard turns that into the error. The library also calls
// itself, and Go ends the process when a stack grows too large, which no recover catches: that depth is bounded before
// the check begins.
//
// A unit is at most some 80 nanoseconds on two cores of 2026.
const (
	maxWork    = 2_000_000
	visitWork  = 10 // one evaluation of a subschema
	memberWork = 3  // each member of an object
	// maxFrames bounds how deep evaluations nest, a kilobyte or two of stack each.
	maxFrames = 30_000
	// maxDigits bounds the numbers that are compared. The library compares them exactly, at a price that depends on
	// their spelling: 1e1000000 takes 25 milliseconds and 400 kilobytes.
	maxDigits = 1000
	// maxFan bounds how often one subschema may apply to one value: ten levels of "allOf" with two references to the
	// next level are a thousand.
	maxFan = 100_000
	// maxGuesses bounds how many pairs there may be of a $dynamicRef and a place that it can lead to.
	maxGuesses = 50_000
)

var errSpent = &Error{
	Reason: TooComplex,
	Text:   fmt.Sprintf("schema too complex for this value: checking it takes more than %d units of work", maxWork),
}

// A budget counts the work of one check at a time.
type budget struct {
	mu    sync.Mutex
	left  int
	all   []*jsonschema.Schema // all subschemas that a check can come to, in the order of their locations
	nodes map[*jsonschema.Schema]*node
	// dynamic has, by name, where a $dynamicRef can lead to, and recursive where a $recursiveRef can. Which of them it
	// is depends on how the evaluation came there; a bound counts all.
	dynamic   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
	// height is the longest chain of subschemas that are applied to one value, digits those of the longest number.
	height, digits int
	// numbers is set if a subschema compares numbers, leftovers if one asks for what is unevaluated.
	numbers, leftovers bool
	// visit, frames and number belong to the value that is checked: the least cost of an evaluation, the depth of the
	// calls, and the cost of comparing two numbers.
	visit, frames, number int
}

// A node is a subschema with what its evaluation costs.
type node struct {
	inPlace []*jsonschema.Schema // applied to the same value
	tuple   []*jsonschema.Schema // applied to one item each
	items   []*jsonschema.Schema // applied to every item
	members []*jsonschema.Schema // applied to every member, or to its name
	dynamic bool
	choices int // values in const and enum
	numbers int // numbers that are read, written or compared
	names   int // names in required and the like
	// height and fan are how deep and how often subschemas are applied to one value.
	height, fan int
	busy        bool
}

// newBudget makes the budget of the checks by a compiled schema. from are the root and the other subschemas that a
// $dynamicRef may lead to. What cannot be checked is taken out of the schema, with a warning each. It refuses schemas
// that lead back to themselves without going into the value, and those that multiply.
func newBudget(root *jsonschema.Schema, from []*jsonschema.Schema, sv *survey) (*budget, []wire.Finding, error) {
	b := &budget{
		left:    maxWork,
		digits:  sv.digits,
		nodes:   map[*jsonschema.Schema]*node{},
		dynamic: map[string][]*jsonschema.Schema{},
	}
	if err := b.collectSchemas(root, from); err != nil {
		return nil, nil, err
	}
	warnings := b.dropUnchecked(sv.doc)
	for _, s := range b.all {
		b.nodes[s] = b.newNode(s)
	}
	for _, s := range b.all {
		if err := b.measureFan(s); err != nil {
			return nil, nil, err
		}
		b.height = max(b.height, b.nodes[s].height)
	}
	for _, s := range b.all {
		s.Format = &jsonschema.Format{Name: "work", Validate: func(v any) error {
			b.charge(s, v)
			return nil
		}}
	}
	sv.patterns.spend = b.pay
	return b, warnings, nil
}

// reach collects the subschemas that can be reached from some, and where dynamic references can lead to.
func (b *budget) collectSchemas(root *jsonschema.Schema, from []*jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{nil: true}
	entered := []*jsonschema.Schema{root} // by a reference or an $id
	for todo := from; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		b.all = append(b.all, s)
		entered = append(entered, s.Ref, s.RecursiveRef)
		if s.ID != "" {
			entered = append(entered, s)
		}
		here, below := subschemas(s)
		todo = slices.Concat(todo, here, below)
	}
	byPlace := func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) }
	slices.SortFunc(b.all, byPlace)
	// The outermost schema wins, and no schema is further out than the root.
	b.recursive = []*jsonschema.Schema{root}
	if !root.RecursiveAnchor {
		entered = slices.DeleteFunc(entered, func(s *jsonschema.Schema) bool { return s == nil })
		slices.SortFunc(entered, byPlace)
		b.recursive = slices.Compact(entered)
	}
	for _, s := range b.all {
		if s.DynamicAnchor != "" {
			b.dynamic[s.DynamicAnchor] = append(b.dynamic[s.DynamicAnchor], s)
		}
	}
	guesses := 0
	for _, s := range b.all {
		if s.DynamicRef != nil {
			guesses += len(b.dynamic[s.DynamicRef.Anchor])
		}
		if s.RecursiveRef != nil {
			guesses += len(b.recursive)
		}
	}
	if guesses > maxGuesses {
		return tooComplex("", "its dynamic references can lead to too many places")
	}
	return nil
}

// here returns the subschemas that a schema applies, or may apply, to the value that it is applied to.
func (b *budget) inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	here, _ := subschemas(s)
	add := func(target *jsonschema.Schema, others []*jsonschema.Schema) {
		for _, sub := range others {
			if sub != target {
				here = append(here, sub)
			}
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		add(s.DynamicRef.Ref, b.dynamic[s.DynamicRef.Anchor])
	}
	if s.RecursiveRef != nil && s.RecursiveRef.RecursiveAnchor {
		add(s.RecursiveRef, b.recursive)
	}
	return here
}

// newNode returns what a subschema costs, and replaces two of its keywords by extensions, which is what the library
// calls additional code for a keyword.
//
// propertyNames, because the library reports it at a location that it goes on to overwrite: the error comes out at a
// sibling. uniqueItems, because it finds candidates by a hash that [[],[]] and [[[]]] share, and so many other lists
// that a hostile value of 200 kB keeps it busy for minutes.
func (b *budget) newNode(s *jsonschema.Schema) *node {
	n := &node{
		inPlace: b.inPlace(s),
		tuple:   slices.Concat(s.PrefixItems, asSchemas(s.Items)),
		items: []*jsonschema.Schema{
			s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems), s.Contains, s.UnevaluatedItems,
		},
		members: []*jsonschema.Schema{asSchema(s.AdditionalProperties), s.UnevaluatedProperties, s.PropertyNames},
		dynamic: s.DynamicRef != nil || s.RecursiveRef != nil,
		names:   2*len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired),
	}
	for _, sub := range s.PatternProperties {
		n.members = append(n.members, sub)
	}
	for _, names := range s.DependentRequired {
		n.names += 2 * len(names)
	}
	for _, dep := range s.Dependencies {
		names, _ := dep.([]string)
		n.names += 2 * len(names)
	}
	values, _ := valuesOf(s)
	for _, v := range values {
		n.addChoice(v)
	}
	for _, limit := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			n.numbers += 3
		}
	}
	if s.MultipleOf != nil {
		n.numbers += 24 // a division, and the reduction of the quotient
	}
	if s.Types != nil {
		names := s.Types.ToStrings()
		if slices.Contains(names, "integer") && !slices.Contains(names, "number") {
			n.numbers++
		}
	}
	b.numbers = b.numbers || n.numbers > 0
	b.leftovers = b.leftovers || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
	if s.PropertyNames != nil {
		s.Extensions = append(s.Extensions, nameCheck{s.PropertyNames})
		s.PropertyNames = nil
	}
	if s.UniqueItems {
		s.Extensions = append(s.Extensions, uniqueCheck{b})
		s.UniqueItems = false
	}
	return n
}

// addChoice counts a value that is compared with.
func (n *node) addChoice(v any) {
	n.choices++
	switch v := v.(type) {
	case string:
		n.choices += len(v) / 500
	case json.Number:
		n.numbers += 3
	}
	for item := range children(v) {
		n.addChoice(item)
	}
}

// measureFan sets the height and the fan of a subschema.
func (b *budget) measureFan(s *jsonschema.Schema) error {
	n := b.nodes[s]
	where, _ := pointerOf(s.Location)
	if n.busy {
		return tooComplex(where, "it refers to itself without descending into the value")
	}
	if n.height > 0 {
		return nil
	}
	n.busy = true
	n.fan = 1
	for _, sub := range n.inPlace {
		if err := b.measureFan(sub); err != nil {
			return err
		}
		n.height = max(n.height, b.nodes[sub].height)
		n.fan += b.nodes[sub].fan
		if n.fan > maxFan {
			return tooComplex(where, "its subschemas multiply: they apply to one value more than %d times", maxFan)
		}
	}
	n.busy = false
	n.height++
	return nil
}

// at returns the subschema at a location of the library's, or nil.
func (b *budget) schemaAt(location string) *jsonschema.Schema {
	byLocation := func(s *jsonschema.Schema, at string) int { return cmp.Compare(s.Location, at) }
	i, ok := slices.BinarySearchFunc(b.all, location, byLocation)
	if !ok {
		return nil
	}
	return b.all[i]
}

// run checks a value and ends when the budget is spent.
func (b *budget) run(s *jsonschema.Schema, value any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	depth, digits := measure(value)
	b.left = maxWork
	b.frames = (depth + 2) * b.height
	b.number = 4 + max(digits, b.digits)/7
	// The library looks for a subschema among its callers, and an error copies its place.
	b.visit = visitWork + b.height/8 + depth/4
	return guard(func() error {
		if b.frames > maxFrames || b.numbers && digits > maxDigits {
			return errSpent
		}
		b.payFor(s, 1)
		return s.Validate(value)
	})
}

// measure returns the depth of a value and the digits of its longest number.
func measure(v any) (depth, digits int) {
	if n, ok := v.(json.Number); ok {
		return 0, digitsOf(n)
	}
	for item := range children(v) {
		d, n := measure(item)
		depth = max(depth, d+1)
		digits = max(digits, n)
	}
	return depth, digits
}

// digitsOf returns about how many decimal digits the numerator or the denominator of a number has, and more than
// maxDigits if that is not known.
func digitsOf(n json.Number) int {
	digits, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	if exponent == "" {
		return len(digits)
	}
	e, err := strconv.Atoi(exponent)
	if err != nil || e > maxDigits || e < -maxDigits {
		e = maxDigits
	}
	return len(digits) + max(e, -e)
}

// pay takes times × each from what is left.
func (b *budget) pay(times, each int) {
	if times > 0 && each > b.left/times {
		panic(errSpent)
	}
	b.left -= times * each
}

// enter pays for evaluating a subschema, without the subschemas that it applies.
func (b *budget) payFor(s *jsonschema.Schema, times int) {
	n := b.nodes[s]
	if n == nil || times == 0 {
		return
	}
	b.pay(times, b.visit+n.choices)
	b.pay(times*n.numbers, b.number)
	if n.dynamic {
		b.pay(times, b.frames/8) // it looks through all callers
	}
}

// charge pays for what a subschema does with a value, and for all subschemas that it applies to the value or its parts.
func (b *budget) charge(s *jsonschema.Schema, v any) {
	n := b.nodes[s]
	for _, sub := range n.inPlace {
		b.payFor(sub, 1)
	}
	leftovers := 0
	if b.leftovers {
		leftovers = 6 * (1 + len(n.inPlace))
	}
	switch v := v.(type) {
	case string:
		b.pay(1, len(v)/30)
	case []any:
		b.pay(len(v), leftovers)
		for _, sub := range n.tuple {
			b.payFor(sub, 1)
		}
		for _, sub := range n.items {
			b.payFor(sub, len(v))
		}
	case map[string]any:
		b.pay(len(v), memberWork+leftovers)
		b.pay(1, n.names)
		for _, sub := range n.members {
			b.payFor(sub, len(v))
		}
		for name := range v {
			b.pay(1, len(name)/50)
			b.payFor(s.Properties[name], 1)
		}
	}
}

// A nameCheck is the keyword propertyNames.
type nameCheck struct{ names *jsonschema.Schema }

func (c nameCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	obj, _ := v.(map[string]any)
	for name := range obj {
		err := ctx.Validate(c.names, name, []string{name})
		if verr, ok := err.(*jsonschema.ValidationError); ok {
			ctx.AddErrors([]*jsonschema.ValidationError{verr}, &kind.PropertyNames{Property: name})
		}
	}
}

// A uniqueCheck is the keyword uniqueItems.
type uniqueCheck struct{ budget *budget }

func (c uniqueCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	items, _ := v.([]any)
	first := make(map[string]int, len(items))
	for i, item := range items {
		var key strings.Builder
		writeKey(&key, item)
		c.budget.pay(1, 4+key.Len()/8)
		if j, ok := first[key.String()]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{j, i}})
			return
		}
		first[key.String()] = i
	}
}

// writeKey spells a value so that two values are spelled alike if and only if JSON Schema calls them equal.
func writeKey(sb *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		sb.WriteByte('[')
		for _, item := range v {
			writeKey(sb, item)
		}
		sb.WriteByte(']')
	case map[string]any:
		sb.WriteByte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			writeKey(sb, name)
			writeKey(sb, v[name])
		}
		sb.WriteByte('}')
	case string:
		fmt.Fprintf(sb, "%d:%s", len(v), v)
	case json.Number:
		sb.WriteString(jsonraw.PlainNumber(string(v)) + ";")
	default: // true, false, null
		fmt.Fprint(sb, v)
	}
}
