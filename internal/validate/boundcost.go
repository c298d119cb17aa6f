package validate

import "encoding/json"

// What one evaluation of a subschema costs by itself, in units.
const (
	visitWork  = 10 // any
	memberWork = 3  // for each member of the object
)

// A typeSet is a set of JSON types.
type typeSet uint8

const (
	nullType typeSet = 1 << iota
	booleanType
	numberType
	stringType
	arrayType
	objectType
	anyType typeSet = 1<<iota - 1
)

func typeOf(v any) typeSet {
	switch v.(type) {
	case nil:
		return nullType
	case bool:
		return booleanType
	case json.Number:
		return numberType
	case string:
		return stringType
	case []any:
		return arrayType
	default:
		return objectType
	}
}

// typesNamed reads "type". An integer may be any number until it is looked at.
func typesNamed(names []string) typeSet {
	bits := map[string]typeSet{
		"null": nullType, "boolean": booleanType, "number": numberType, "integer": numberType,
		"string": stringType, "array": arrayType, "object": objectType,
	}
	var set typeSet
	for _, name := range names {
		set |= bits[name]
	}
	return set
}

// cost is what one evaluation takes, without those that it leads to.
func (e *entry) cost(v any, t typeSet, depth int) int {
	r := e.rule
	work := visitWork + e.hops/8 // the library looks for itself among its callers
	work += depth / 4            // an error copies its location
	if r.dynamic {
		work += e.frames / 8 // a $dynamicRef looks at all of them
	}
	digits := 0
	if n, ok := v.(json.Number); ok {
		digits = magnitude(n)
		if r.integer {
			work += numberWork(digits)
		}
	}
	if r.types&t == 0 {
		return work
	}
	work += r.choices
	if t&(numberType|arrayType|objectType) != 0 {
		work += r.numbers * 3 * numberWork(max(digits, r.digits))
	}
	switch v := v.(type) {
	case json.Number:
		work += r.limits * 3 * numberWork(digits+r.digits)
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
	work := len(s) / 30 // the library copies strings, and counts characters
	if p, ok := r.schema.Pattern.(*pattern); ok {
		work += matchWork(p, s)
	}
	return work
}

// matchWork is what a regular expression costs in the worst of Go's engines,
// which at every character may hold every instruction.
func matchWork(p *pattern, s string) int {
	if p.re == nil {
		return visitWork // it matches, and true is applied
	}
	return 4 + (p.size+4)*(len(s)+1)/12
}

func (e *entry) arrayWork(items []any) int {
	work := len(items) / 4
	if e.leftovers || e.rule.remainder != nil {
		work += 4 * len(items)
	}
	if e.rule.unique {
		work += keyWork(items)
	}
	return work
}

func (e *entry) objectWork(obj map[string]any) int {
	s, patterns := e.rule.schema, e.rule.patterns
	work := memberWork*len(obj) + 2*len(s.Required) + len(s.Dependencies) + len(s.DependentSchemas)
	if len(obj) > 0 && len(patterns) > maxWork/len(obj) {
		return maxWork + 1
	}
	if e.leftovers || e.rule.leftover != nil {
		work += 6 * len(obj)
	}
	if e.rule.names != nil {
		work += visitWork * len(obj)
	}
	for name := range obj {
		work += len(name) / 50
		for _, n := range patterns {
			work += matchWork(n.pattern, name)
		}
	}
	for _, names := range s.DependentRequired {
		work += 2*len(names) + 1
	}
	for _, names := range s.Dependencies {
		if list, ok := names.([]string); ok {
			work += 2*len(list) + 1
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
