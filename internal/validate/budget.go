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

// The library's evaluation has no limit and cannot be interrupted: a schema of one line can take
// years. A timeout would not help: its result would depend on the machine, and the abandoned
// goroutine would continue.
//
// Each subschema therefore gets a "format", which the library calls before it evaluates the
// subschema's children. The call pays for all of them in advance and panics when the budget is
// spent; guard turns the panic into the error. The library is also recursive, and Go cannot
// recover from a stack overflow, so the depth is checked before the evaluation.
//
// A unit takes at most about 80 nanoseconds on two cores of 2026.
const (
	maxWork    = 2_000_000
	visitWork  = 10 // one evaluation of a subschema
	memberWork = 3  // each member of an object
	// maxFrames bounds how deep evaluations nest. Each needs one or two kilobytes of stack.
	maxFrames = 30_000
	// maxDigits bounds the numbers that are compared. The library compares them exactly, at a
	// cost that depends on their spelling: 1e1000000 takes 25 milliseconds and 400 kilobytes.
	maxDigits = 1000
	// maxFan bounds how often a subschema may apply to one value: ten levels of "allOf" with two
	// references to the next level apply it a thousand times.
	maxFan = 100_000
	// maxGuesses bounds the pairs of a $dynamicRef and a possible target.
	maxGuesses = 50_000
)

var errSpent = &Error{
	Reason: TooComplex,
	Text:   fmt.Sprintf("schema too complex for this value: checking it takes more than %d units of work", maxWork),
}

// A budget bounds the work of a check. mu serializes checks with the same schema.
type budget struct {
	mu       sync.Mutex
	workLeft int
	schemas  []*jsonschema.Schema // all reachable subschemas, sorted by location
	nodes    map[*jsonschema.Schema]*node
	// dynamic lists the possible targets of a $dynamicRef by name, and recursive the targets of a
	// $recursiveRef. The actual target depends on the path of the evaluation; the limits count
	// all of them.
	dynamic   map[string][]*jsonschema.Schema
	recursive []*jsonschema.Schema
	// height is the longest chain of subschemas applied to one value.
	height int
	// longestNumber is the length of the schema's longest number.
	longestNumber int
	// comparesNumbers is set if a subschema compares numbers.
	comparesNumbers bool
	// hasUnevaluated is set if a subschema has an unevaluated… keyword.
	hasUnevaluated bool

	// The fields below belong to the value being checked.
	visitCost  int // the minimum cost of an evaluation
	maxDepth   int // the depth of the calls
	numberCost int // the cost of comparing two numbers
}

// A node is a subschema with the cost of its evaluation.
type node struct {
	inPlace     []*jsonschema.Schema // applied to the same value
	tuple       []*jsonschema.Schema // each applied to one item
	items       []*jsonschema.Schema // applied to every item
	members     []*jsonschema.Schema // applied to every member, or to its name
	isDynamic   bool
	choiceCount int // the number of values in const and enum
	numberCount int // the numbers that are read, written or compared
	nameCount   int // the names in required and dependent… keywords
	// height and fan are how deep and how often subschemas apply to one value.
	height, fan int
	isMeasuring bool
}

// newBudget returns the budget of a compiled schema. entries are the root and the other subschemas
// that a $dynamicRef may lead to. It removes the parts that cannot be checked from the schema and
// returns a warning for each. It returns an error if subschemas refer to themselves in place, or apply
// too often to one value.
func newBudget(root *jsonschema.Schema, entries []*jsonschema.Schema, sv *survey) (*budget, []wire.Finding, error) {
	b := &budget{
		workLeft:      maxWork,
		longestNumber: sv.longestNumber,
		nodes:         map[*jsonschema.Schema]*node{},
		dynamic:       map[string][]*jsonschema.Schema{},
	}
	if err := b.collectSchemas(root, entries); err != nil {
		return nil, nil, err
	}
	warnings := b.dropUnchecked(sv.doc)
	for _, s := range b.schemas {
		b.nodes[s] = b.newNode(s)
	}
	for _, s := range b.schemas {
		if err := b.measureFan(s); err != nil {
			return nil, nil, err
		}
		b.height = max(b.height, b.nodes[s].height)
	}
	for _, s := range b.schemas {
		s.Format = &jsonschema.Format{Name: "work", Validate: func(v any) error {
			b.payForValue(s, v)
			return nil
		}}
	}
	sv.patterns.spend = b.pay
	return b, warnings, nil
}

// collectSchemas collects the subschemas that can be reached from entries, and the possible targets of
// dynamic references.
func (b *budget) collectSchemas(root *jsonschema.Schema, entries []*jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]bool{nil: true}
	entered := []*jsonschema.Schema{root} // entered by a reference or an $id
	for todo := entries; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[s] {
			continue
		}
		seen[s] = true
		b.schemas = append(b.schemas, s)
		entered = append(entered, s.Ref, s.RecursiveRef)
		if s.ID != "" {
			entered = append(entered, s)
		}
		inPlace, children := subschemas(s)
		todo = slices.Concat(todo, inPlace, children)
	}
	byLocation := func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) }
	slices.SortFunc(b.schemas, byLocation)
	// The target is the outermost schema with an anchor, and the root is the outermost of all.
	b.recursive = []*jsonschema.Schema{root}
	if !root.RecursiveAnchor {
		entered = slices.DeleteFunc(entered, func(s *jsonschema.Schema) bool { return s == nil })
		slices.SortFunc(entered, byLocation)
		b.recursive = slices.Compact(entered)
	}
	for _, s := range b.schemas {
		if s.DynamicAnchor != "" {
			b.dynamic[s.DynamicAnchor] = append(b.dynamic[s.DynamicAnchor], s)
		}
	}
	guesses := 0 // pairs of a dynamic reference and a possible target
	for _, s := range b.schemas {
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

// inPlace returns the subschemas that a schema applies, or may apply, to its own value.
func (b *budget) inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	inPlace, _ := subschemas(s) // with the static target of a dynamic reference
	addOthers := func(staticTarget *jsonschema.Schema, targets []*jsonschema.Schema) {
		for _, target := range targets {
			if target != staticTarget {
				inPlace = append(inPlace, target)
			}
		}
	}
	if s.DynamicRef != nil && s.DynamicRef.Anchor != "" {
		addOthers(s.DynamicRef.Ref, b.dynamic[s.DynamicRef.Anchor])
	}
	if s.RecursiveRef != nil && s.RecursiveRef.RecursiveAnchor {
		addOthers(s.RecursiveRef, b.recursive)
	}
	return inPlace
}

// newNode returns the costs of a subschema, and replaces two of its keywords by our own checks.
//
// The library reports propertyNames at the location of a sibling. It checks uniqueItems with a
// hash that has too many collisions, such as [[],[]] and [[[]]]: a hostile value of 200 kB takes
// minutes.
func (b *budget) newNode(s *jsonschema.Schema) *node {
	n := &node{
		inPlace: b.inPlace(s),
		tuple:   slices.Concat(s.PrefixItems, asSchemas(s.Items)),
		items: []*jsonschema.Schema{
			s.Items2020, asSchema(s.Items), asSchema(s.AdditionalItems), s.Contains, s.UnevaluatedItems,
		},
		members:   []*jsonschema.Schema{asSchema(s.AdditionalProperties), s.UnevaluatedProperties, s.PropertyNames},
		isDynamic: s.DynamicRef != nil || s.RecursiveRef != nil,
		nameCount: 2*len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas) + len(s.DependentRequired),
	}
	for _, sub := range s.PatternProperties {
		n.members = append(n.members, sub)
	}
	for _, names := range s.DependentRequired {
		n.nameCount += 2 * len(names)
	}
	for _, dep := range s.Dependencies {
		names, _ := dep.([]string)
		n.nameCount += 2 * len(names)
	}
	values, _ := valuesOf(s)
	for _, v := range values {
		n.addChoice(v)
	}
	for _, limit := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			n.numberCount += 3 // reads the value, compares it, and writes it into an error
		}
	}
	if s.MultipleOf != nil {
		n.numberCount += 24 // a division, and the reduction of the quotient
	}
	if s.Types != nil {
		names := s.Types.ToStrings()
		testsForInteger := slices.Contains(names, "integer") && !slices.Contains(names, "number")
		if testsForInteger {
			n.numberCount++
		}
	}
	b.comparesNumbers = b.comparesNumbers || n.numberCount > 0
	b.hasUnevaluated = b.hasUnevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
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

// addChoice adds the cost of comparing with a value.
func (n *node) addChoice(v any) {
	n.choiceCount++
	switch v := v.(type) {
	case string:
		n.choiceCount += len(v) / 500
	case json.Number:
		n.numberCount += 3
	}
	for item := range children(v) {
		n.addChoice(item)
	}
}

// measureFan computes the height and the fan of a subschema and of the subschemas that it applies
// in place. It returns an error if the subschema applies itself in place, or if the fan is too
// large.
func (b *budget) measureFan(s *jsonschema.Schema) error {
	n := b.nodes[s]
	where, _ := pointerOf(s.Location)
	if n.isMeasuring {
		return tooComplex(where, "it refers to itself without descending into the value")
	}
	if n.height > 0 { // measured already
		return nil
	}
	n.isMeasuring = true
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
	n.isMeasuring = false
	n.height++
	return nil
}

// schemaAt returns the subschema at a location of the library, or nil.
func (b *budget) schemaAt(location string) *jsonschema.Schema {
	byLocation := func(s *jsonschema.Schema, at string) int { return cmp.Compare(s.Location, at) }
	i, ok := slices.BinarySearchFunc(b.schemas, location, byLocation)
	if !ok {
		return nil
	}
	return b.schemas[i]
}

// validate validates a value within the budget.
func (b *budget) validate(s *jsonschema.Schema, value any) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	depth, digits := measure(value)
	b.workLeft = maxWork
	b.maxDepth = (depth + 2) * b.height
	b.numberCost = 4 + max(digits, b.longestNumber)/7
	// The library searches its callers for a subschema, and an error copies the path to its value.
	b.visitCost = visitWork + b.height/8 + depth/4
	return guard(func() error {
		if b.maxDepth > maxFrames || b.comparesNumbers && digits > maxDigits {
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
		itemDepth, itemDigits := measure(item)
		depth = max(depth, itemDepth+1)
		digits = max(digits, itemDigits)
	}
	return depth, digits
}

// digitsOf estimates the decimal digits of a number's numerator or denominator. It returns more
// than maxDigits if the estimate is impossible.
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

// pay takes times × each from the budget. It panics with errSpent if the budget is too small.
func (b *budget) pay(times, each int) {
	if times > 0 && each > b.workLeft/times {
		panic(errSpent)
	}
	b.workLeft -= times * each
}

// payFor pays for evaluating a subschema, without the subschemas that it applies.
func (b *budget) payFor(s *jsonschema.Schema, times int) {
	n := b.nodes[s]
	if n == nil || times == 0 {
		return
	}
	b.pay(times, b.visitCost+n.choiceCount)
	b.pay(times*n.numberCount, b.numberCost)
	if n.isDynamic {
		b.pay(times, b.maxDepth/8) // the library searches all callers
	}
}

// payForValue pays for evaluating a subschema with a value, including all subschemas that it applies.
func (b *budget) payForValue(s *jsonschema.Schema, v any) {
	n := b.nodes[s]
	for _, sub := range n.inPlace {
		b.payFor(sub, 1)
	}
	unevaluatedWork := 0 // for each item or member: the library keeps lists of the unevaluated ones
	if b.hasUnevaluated {
		unevaluatedWork = 6 * (1 + len(n.inPlace))
	}
	switch v := v.(type) {
	case string:
		b.pay(1, len(v)/30)
	case []any:
		b.pay(len(v), unevaluatedWork)
		for _, sub := range n.tuple {
			b.payFor(sub, 1)
		}
		for _, sub := range n.items {
			b.payFor(sub, len(v))
		}
	case map[string]any:
		b.pay(len(v), memberWork+unevaluatedWork)
		b.pay(1, n.nameCount)
		for _, sub := range n.members {
			b.payFor(sub, len(v))
		}
		for name := range v {
			b.pay(1, len(name)/50)
			b.payFor(s.Properties[name], 1)
		}
	}
}

// A nameCheck implements the keyword propertyNames.
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

// A uniqueCheck implements the keyword uniqueItems.
type uniqueCheck struct{ budget *budget }

// Validate adds an error for the first item that is equal to an earlier one.
func (c uniqueCheck) Validate(ctx *jsonschema.ValidatorContext, v any) {
	items, _ := v.([]any)
	firstIndex := make(map[string]int, len(items)) // by key
	for i, item := range items {
		var key strings.Builder
		writeKey(&key, item)
		c.budget.pay(1, 4+key.Len()/8)
		if j, ok := firstIndex[key.String()]; ok {
			ctx.AddError(&kind.UniqueItems{Duplicates: [2]int{j, i}})
			return
		}
		firstIndex[key.String()] = i
	}
}

// writeKey writes the same text for two values if and only if they are equal in JSON Schema.
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
