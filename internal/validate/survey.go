package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// What a schema may be. The library compiles in time that grows with the square
// of the number of subschemas, and faster with long pointers, nested references
// and many $ids; maxCompileWork bounds the sum. One unit was about a nanosecond
// on two cores of 2026, which makes the limit 150 milliseconds. Flat schemas
// reach it at some 5 000 subschemas.
const (
	maxSchemaBytes = 1 << 20
	maxSubschemas  = 10_000
	maxNesting     = 64
	maxCompileWork = 150_000_000
)

// A survey is what a walk through a decoded schema finds out before the library
// sees it. The walk goes at least everywhere that the library will go.
type survey struct {
	Doc      any
	patterns *patterns
	// olderEnum: enum must have unique items, which the library checks in
	// quadratic time.
	olderEnum bool

	seen     map[string]bool // pointers of the subschemas; true if a keyword leads there
	pointers int             // bytes of all those pointers
	work     int
	leads

	Names    []reference // every $schema, $id and reference
	Anchors  []string    // pointers of subschemas with a $dynamicAnchor
	declared bool        // there is a $schema
	tuple    string      // pointer of an array in "items", if there is one
	newest   bool        // a keyword is used that only 2020-12 has
}

// leads are where the references of a schema may point to.
type leads struct {
	base      int      // bytes of the ids around the subschema that is visited
	idBytes   int      // bytes of all ids
	resources []string // pointers of the root and of subschemas with an id
	refs      int
	fragments []string        // JSON pointers in references, from the root of some resource
	known     map[string]bool // the same
	pending   []string        // pointers that they may mean, still to be followed
	extras    map[string]bool // pointers of subschemas that only a reference leads to
	following bool
}

// newSurvey surveys a schema and refuses what would cost too much to compile.
func newSurvey(doc any, spoken dialect) (*survey, error) {
	sv := &survey{
		Doc:       doc,
		patterns:  newPatterns(),
		olderEnum: spoken.Older(),
		seen:      map[string]bool{},
		leads:     leads{resources: []string{""}, known: map[string]bool{}, extras: map[string]bool{}},
		declared:  memberOf(doc, "$schema") != nil,
	}
	if err := sv.weigh(doc); err != nil {
		return nil, err
	}
	if err := sv.visit(doc, "", 1); err != nil {
		return nil, err
	}
	if err := sv.follow(); err != nil {
		return nil, err
	}
	return sv, sv.total()
}

// weigh counts what it costs to hold any of the JSON against a meta-schema.
func (sv *survey) weigh(v any) error {
	sv.work += 400
	if n, ok := v.(json.Number); ok {
		sv.work += 300 * numberWork(magnitude(n))
	}
	for item := range parts(v) {
		if err := sv.weigh(item); err != nil {
			return err
		}
	}
	if sv.work > maxCompileWork {
		return tooComplex("", "it would take too long to compile")
	}
	return nil
}

// visit looks at one subschema and those below it.
func (sv *survey) visit(v any, ptr string, nesting int) error {
	if _, ok := sv.seen[ptr]; ok {
		return nil
	}
	sv.seen[ptr] = !sv.following
	sv.pointers += len(ptr)
	sv.work += 12_000 + 1_000*nesting
	switch {
	case len(sv.seen) > maxSubschemas:
		return tooComplex("", "it has more than %d subschemas", maxSubschemas)
	case nesting > maxNesting:
		return tooComplex(ptr, "its subschemas are nested deeper than %d levels", maxNesting)
	case sv.work > maxCompileWork || sv.pointers > maxSchemaBytes*4:
		return tooComplex("", "it would take too long to compile")
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	defer func(base int) { sv.base = base }(sv.base)
	if err := sv.note(obj, ptr); err != nil {
		return err
	}
	return sv.descend(obj, ptr, nesting+1)
}

// note takes down what matters about one subschema by itself.
func (sv *survey) note(obj map[string]any, ptr string) error {
	for _, kw := range []string{"$id", "id"} {
		if id, ok := obj[kw].(string); ok {
			if err := sv.noteResource(id, ptr); err != nil {
				return err
			}
		}
	}
	if d, ok := dialectNamed(fmt.Sprint(obj["$schema"])); ok && d.Older() {
		sv.olderEnum = true
	}
	if _, ok := obj["$dynamicAnchor"].(string); ok {
		sv.Anchors = append(sv.Anchors, ptr)
	}
	if _, ok := obj["items"].([]any); ok && sv.tuple == "" {
		sv.tuple = ptr + "/items"
	}
	_, prefix := obj["prefixItems"]
	_, dynamic := obj["$dynamicRef"]
	sv.newest = sv.newest || prefix || dynamic
	for _, kw := range []string{"$id", "$schema"} {
		if name, ok := obj[kw].(string); ok {
			sv.Names = append(sv.Names, reference{ptr, kw, name})
		}
	}
	for _, kw := range []string{"$dynamicRef", "$recursiveRef", "$ref"} {
		if ref, ok := obj[kw].(string); ok {
			sv.Names = append(sv.Names, reference{ptr, kw, ref})
			if err := sv.noteRef(ref); err != nil {
				return err
			}
		}
	}
	if err := sv.noteUnique(obj, ptr); err != nil {
		return err
	}
	return sv.notePatterns(obj, ptr)
}

// noteUnique guards the keywords whose items a meta-schema wants to be unique.
// The library compares them pair by pair where they are lists or objects, and
// its hash takes many different lists for the same one.
func (sv *survey) noteUnique(obj map[string]any, ptr string) error {
	lists := map[string]any{"required": obj["required"], "type": obj["type"]}
	for _, kw := range []string{"dependentRequired", "dependencies"} {
		if deps, ok := obj[kw].(map[string]any); ok {
			for name, list := range deps {
				lists[kw+jsonraw.Pointer("", name)] = list
			}
		}
	}
	for _, at := range slices.Sorted(maps.Keys(lists)) {
		if nested, _ := nestedSize(lists[at]); nested {
			return &Error{
				Reason: NotASchema,
				Where:  ptr + "/" + at,
				Text:   "not a valid schema: " + brief(ptr+"/"+at) + " must be a list of strings",
			}
		}
	}
	if nested, size := nestedSize(obj["enum"]); nested && sv.olderEnum {
		sv.work += 700 * size * len(obj["enum"].([]any))
	}
	return nil
}

// nestedSize says whether a list holds lists or objects, and how much in all.
func nestedSize(list any) (nested bool, size int) {
	items, _ := list.([]any)
	for _, item := range items {
		size += sizeOf(item)
		switch item.(type) {
		case []any, map[string]any:
			nested = true
		}
	}
	return nested, size
}

// notePatterns compiles the regular expressions, because their cost is a part
// of the schema's.
func (sv *survey) notePatterns(obj map[string]any, ptr string) error {
	if src, ok := obj["pattern"].(string); ok {
		if _, err := sv.patterns.compile(src); err != nil {
			return tooComplex(ptr+"/pattern", "%v", err)
		}
	}
	named, _ := obj["patternProperties"].(map[string]any)
	for _, src := range slices.Sorted(maps.Keys(named)) {
		if _, err := sv.patterns.compile(src); err != nil {
			return tooComplex(ptr+"/patternProperties"+jsonraw.Pointer("", src), "%v", err)
		}
	}
	return nil
}

// descend visits the subschemas that stand directly in one.
func (sv *survey) descend(obj map[string]any, ptr string, nesting int) error {
	for _, kw := range schema.HoldOne {
		sub, ok := obj[kw]
		if _, list := sub.([]any); !ok || list {
			continue
		}
		if err := sv.visit(sub, ptr+"/"+kw, nesting); err != nil {
			return err
		}
	}
	for _, kw := range schema.HoldList {
		list, _ := obj[kw].([]any)
		for i, sub := range list {
			if err := sv.visit(sub, ptr+"/"+kw+"/"+strconv.Itoa(i), nesting); err != nil {
				return err
			}
		}
	}
	for _, kw := range schema.HoldMap {
		named, _ := obj[kw].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if err := sv.visit(named[name], ptr+"/"+kw+jsonraw.Pointer("", name), nesting); err != nil {
				return err
			}
		}
	}
	return nil
}

// Dialect decides by which dialect a schema is read. Many a server writes tuples
// as an array in "items" and gives no $schema. 2020-12 has no such thing;
// 2019-09 has it, and is otherwise the nearest to it.
func (sv *survey) Dialect(spoken dialect) (dialect, []wire.Finding) {
	if sv.declared || sv.tuple == "" || sv.newest {
		return spoken, nil
	}
	older := dialects[1]
	return older, []wire.Finding{{
		Rule:  "dialect",
		Level: wire.Warning,
		Where: sv.tuple,
		Text: fmt.Sprintf("an array in \"items\" is not %s, and there is no \"$schema\": read as %s",
			spoken.Name, older.Name),
		Want: `"prefixItems"`,
		Got:  `"items"`,
	}}
}

// A reference is a string that names a schema, and where it stands.
type reference struct{ Pointer, Keyword, Text string }
