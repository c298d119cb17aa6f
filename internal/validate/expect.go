package validate

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/wire"
)

// An Expected is what a schema says about one place in a value, for somebody who
// is about to write it: which types may stand there, which values, which
// members. It is a help and no judgement: conditions ("if", "not", "dependent…")
// are left to [Schema.Check].
//
// The zero Expected, and that of a place that the schema does not speak of, says
// nothing.
type Expected struct {
	// every one of these rules holds, and of each choice one alternative.
	every   []*rule
	choices [][]Expected
}

// maxExpected bounds the rules that may hold in one place, in all choices. A schema
// that refers to itself can make too many of a long path; of such a place nothing
// is known.
const maxExpected = 5000

// Expected is what the schema says about the whole value. A nil schema says
// nothing.
func (s *Schema) Expected() Expected {
	if s == nil {
		return Expected{}
	}
	left := maxExpected
	return known(expect(s.rules, []*rule{s.rules.of[s.compiled]}, &left), left)
}

// known is e, unless more was found than may be.
func known(e Expected, left int) Expected {
	if left < 0 {
		return Expected{}
	}
	return e
}

// expect gathers what holds together with some rules, and counts them off from what
// is left. No rule comes back to itself without going into the value: rules()
// refuses that.
func expect(book *rulebook, todo []*rule, left *int) (e Expected) {
	seen := map[*rule]bool{nil: true}
	for len(todo) > 0 && *left >= 0 {
		r := todo[0]
		todo = todo[1:]
		if seen[r] {
			continue
		}
		seen[r] = true
		e.every = append(e.every, r)
		*left--
		todo = append(todo, book.of[r.schema.Ref])
		for _, sub := range r.schema.AllOf {
			todo = append(todo, book.of[sub])
		}
		for _, several := range [][]*jsonschema.Schema{r.schema.AnyOf, r.schema.OneOf} {
			var alternatives []Expected
			for _, sub := range several {
				alternatives = append(alternatives, expect(book, []*rule{book.of[sub]}, left))
			}
			if alternatives != nil {
				e.choices = append(e.choices, alternatives)
			}
		}
	}
	return e
}

// Types names the JSON types that may stand here, as "type" does; nil means that
// any may.
func (e Expected) Types() []string {
	set, whole := e.types()
	if set == anyType {
		return nil
	}
	names := []string{}
	for i, name := range []string{"null", "boolean", "number", "string", "array", "object"} {
		if bit := typeSet(1) << i; set&bit != 0 {
			if bit == numberType && whole {
				name = "integer"
			}
			names = append(names, name)
		}
	}
	return names
}

// types is the set, and whether a number in it has to be a whole one.
func (e Expected) types() (set typeSet, whole bool) {
	set = anyType
	for _, r := range e.every {
		set &= r.types
		whole = whole || r.integer
		if values, ok := valuesOf(r.schema); ok {
			set &= typesOf(values)
		}
	}
	for _, alternatives := range e.choices {
		var any typeSet
		wholes := true
		for _, a := range alternatives {
			one, integer := a.types()
			any |= one
			wholes = wholes && (integer || one&numberType == 0)
		}
		set &= any
		whole = whole || wholes && any&numberType != 0
	}
	return set, whole
}

func typesOf(values []any) (set typeSet) {
	for _, v := range values {
		set |= typeOf(v)
	}
	return set
}

// valuesOf are what "enum" or "const" list.
func valuesOf(s *jsonschema.Schema) ([]any, bool) {
	switch {
	case s.Const != nil:
		return []any{*s.Const}, true
	case s.Enum != nil:
		return s.Enum.Values, true
	}
	return nil, false
}

// Values are the texts, numbers and other small things of which one has to stand
// here; nil where the schema lists none, or lists arrays and objects.
func (e Expected) Values() []json.RawMessage {
	for _, r := range e.every {
		if values, ok := valuesOf(r.schema); ok {
			return small(values)
		}
	}
	for _, alternatives := range e.choices {
		if all := together(alternatives); all != nil {
			return all
		}
	}
	return nil
}

// together are the values of alternatives that all list theirs. One that is null
// and nothing else lists null.
func together(alternatives []Expected) (all []json.RawMessage) {
	for _, a := range alternatives {
		values := a.Values()
		if set, _ := a.types(); set == nullType {
			values = []json.RawMessage{json.RawMessage("null")}
		}
		if values == nil {
			return nil
		}
		all = append(all, values...)
	}
	return all
}

func small(values []any) (all []json.RawMessage) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			all = append(all, wire.Quote(v))
		case json.Number:
			all = append(all, json.RawMessage(v))
		case bool, nil:
			all = append(all, json.RawMessage(brief(v)))
		default:
			return nil
		}
	}
	return all
}

// Names are the members that the schema lists, in order.
func (e Expected) Names() []string {
	names := map[string]bool{}
	e.addNames(names, map[*rule]bool{nil: true})
	return slices.Sorted(maps.Keys(names))
}

// addNames looks into conditions too: what they list is no slip.
func (e Expected) addNames(names map[string]bool, seen map[*rule]bool) {
	for todo := slices.Clone(e.every); len(todo) > 0; {
		r := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[r] {
			continue
		}
		seen[r] = true
		for name := range r.members {
			names[name] = true
		}
		todo = append(todo, r.same()...)
	}
	for _, alternatives := range e.choices {
		for _, a := range alternatives {
			a.addNames(names, seen)
		}
	}
}

// Closed reports that no other members than those of the schema may stand here.
func (e Expected) Closed() bool {
	for _, r := range e.every {
		if no, ok := r.schema.AdditionalProperties.(bool); ok && !no {
			return true
		}
	}
	return false
}

// Member is what may stand under a name, and whether the schema speaks of it at
// all.
func (s *Schema) Member(e Expected, name string) (Expected, bool) {
	return s.step(e, func(r *rule) []*rule {
		var subs []*rule
		if sub := r.members[name]; sub != nil {
			subs = append(subs, sub)
		}
		for _, p := range r.patterns {
			if p.pattern.MatchString(name) {
				subs = append(subs, p.rule)
			}
		}
		if subs == nil && r.additional != nil {
			subs = append(subs, r.additional)
		}
		return subs
	})
}

// Item is what may stand in a list, in the place n from 0 on.
func (s *Schema) Item(e Expected, n int) (Expected, bool) {
	return s.step(e, func(r *rule) []*rule {
		switch {
		case n < len(r.prefix):
			return []*rule{r.prefix[n]}
		case r.items != nil:
			return []*rule{r.items}
		}
		return nil
	})
}

// step goes one step into the value, with all that holds here.
func (s *Schema) step(e Expected, into func(*rule) []*rule) (Expected, bool) {
	if s == nil {
		return Expected{}, false
	}
	left := maxExpected
	in, found := below(s.rules, e, into, &left)
	return known(in, left), found
}

func below(book *rulebook, e Expected, into func(*rule) []*rule, left *int) (in Expected, found bool) {
	var subs []*rule
	for _, r := range e.every {
		subs = append(subs, into(r)...)
	}
	in, found = expect(book, subs, left), subs != nil
	for _, alternatives := range e.choices {
		var on []Expected
		for _, a := range alternatives {
			if next, ok := below(book, a, into, left); ok {
				on = append(on, next)
			}
		}
		if on != nil {
			in.choices, found = append(in.choices, on), true
		}
	}
	return in, found
}
