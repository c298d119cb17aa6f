package validate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// dropUnchecked removes the parts of the compiled schema that cannot be checked or must not be, and
// returns a warning for each part that cannot. The compiled schema belongs to this package, so it
// may be changed.
func (b *budget) dropUnchecked(doc any) []wire.Finding {
	var warnings []wire.Finding
	lenient := map[*jsonschema.Schema]bool{}
	for _, s := range b.schemas {
		s.Format = nil // an annotation, which the library asserts in older dialects
		capCounts(s, doc)
		warnings = append(warnings, dropPatterns(s, lenient)...)
	}
	if len(lenient) == 0 {
		return nil
	}
	b.markDependents(lenient)
	for _, s := range b.schemas {
		warnings = append(warnings, dropNegations(s, lenient)...)
	}
	return warnings
}

// capCounts corrects limits that the library truncates to 64 bits: a maxLength of 2^64 would
// otherwise allow only "".
func capCounts(s *jsonschema.Schema, doc any) {
	ptr, ours := pointerOf(s.Location)
	if !ours {
		return
	}
	written, _ := lookup(doc, pointerTokens(ptr))
	for kw, limit := range map[string]*int{
		"minLength": s.MinLength, "maxLength": s.MaxLength,
		"minItems": s.MinItems, "maxItems": s.MaxItems,
		"minProperties": s.MinProperties, "maxProperties": s.MaxProperties,
		"minContains": s.MinContains, "maxContains": s.MaxContains,
	} {
		n, ok := memberOf(written, kw).(json.Number)
		if !ok || limit == nil || digitsOf(n) < 10 { // fewer digits fit into 64 bits
			continue
		}
		if r, ok := new(big.Rat).SetString(string(n)); ok && r.Cmp(big.NewRat(math.MaxInt32, 1)) > 0 {
			*limit = math.MaxInt32
		}
	}
}

// dropPatterns removes the patterns that cannot be checked and marks their schemas as lenient. A
// name pattern that cannot be checked may match every member.
func dropPatterns(s *jsonschema.Schema, lenient map[*jsonschema.Schema]bool) []wire.Finding {
	var warnings []wire.Finding
	warn := func(pointer string, p *pattern) {
		lenient[s] = true
		rule := "pattern"
		if p.isInvalid {
			rule = "pattern_broken" // also invalid in ECMA-262
		}
		warnings = append(warnings, notChecked(s, rule, pointer,
			fmt.Sprintf("pattern not checked: %s: %s", brief(p.source), p.unchecked)))
	}
	if p, ok := s.Pattern.(*pattern); ok && p.re == nil {
		warn("/pattern", p)
		s.Pattern = nil
	}
	acceptsAll := true
	for re := range s.PatternProperties {
		if p, ok := re.(*pattern); ok && p.re == nil {
			warn("/patternProperties"+jsonraw.Pointer("", p.source), p)
			s.PatternProperties[re] = &jsonschema.Schema{Bool: &acceptsAll}
		}
	}
	sliceutil.Sort(warnings, func(a, b wire.Finding) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return warnings
}

// markDependents marks every schema whose result depends on a lenient schema as lenient.
func (b *budget) markDependents(lenient map[*jsonschema.Schema]bool) {
	users := map[*jsonschema.Schema][]*jsonschema.Schema{}
	for _, s := range b.schemas {
		_, children := subschemas(s)
		for _, sub := range append(b.inPlace(s), children...) {
			users[sub] = append(users[sub], s)
		}
	}
	todo := slices.Collect(maps.Keys(lenient))
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, user := range users[s] {
			if !lenient[user] {
				lenient[user] = true
				todo = append(todo, user)
			}
		}
	}
}

// dropNegations removes the keywords that reject a value because a subschema accepts it, if the
// subschema is lenient: it accepts too much, and a value must not be rejected for that.
func dropNegations(s *jsonschema.Schema, lenient map[*jsonschema.Schema]bool) []wire.Finding {
	var dropped []string
	if lenient[s.Not] {
		s.Not = nil
		dropped = append(dropped, "not")
	}
	if lenient[s.If] {
		s.If = nil
		s.Then = nil
		s.Else = nil
		dropped = append(dropped, "if")
	}
	if slices.ContainsFunc(s.OneOf, func(sub *jsonschema.Schema) bool { return lenient[sub] }) {
		if len(s.AnyOf) == 0 {
			s.AnyOf = s.OneOf
		}
		s.OneOf = nil
		dropped = append(dropped, "oneOf")
	}
	if s.MaxContains != nil && lenient[s.Contains] {
		s.MaxContains = nil
		dropped = append(dropped, "maxContains")
	}
	var warnings []wire.Finding
	for _, kw := range dropped {
		warnings = append(warnings, notChecked(s, kw, "/"+kw,
			quote(kw)+" not fully checked: it depends on a pattern that is not checked"))
	}
	return warnings
}

func notChecked(s *jsonschema.Schema, rule, at, text string) wire.Finding {
	where, _ := pointerOf(s.Location)
	return wire.Finding{Rule: rule, Severity: wire.Warning, Pointer: where + at, Text: text}
}
