package validate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// Limits of a schema. The library's compile time grows with the square of the number of
// subschemas, and faster with long pointers, nested references and many $ids; maxCompileWork
// bounds the sum. A unit takes about a nanosecond on two cores of 2026, so the limit is 150
// milliseconds. Flat schemas reach it at about 5,000 subschemas.
const (
	maxSchemaBytes = 1 << 20
	maxSubschemas  = 10_000
	maxNesting     = 64
	maxCompileWork = 150_000_000
	// copyWork is the cost of one entry in the library's table of subschemas. The library copies
	// the table for each subschema that only references reach.
	copyWork = 200
	// joinWork is the cost per byte of resolving a reference or an id.
	joinWork = 30
	// valueWork is the cost of validating a value with a meta-schema, and extraWork the same for
	// a value that only references reach and that may be a subschema.
	valueWork = 400
	extraWork = 3_000
)

// A survey is the result of walking a decoded schema before the library compiles it. The walk
// visits at least every place that the library visits.
type survey struct {
	doc      any
	patterns *patterns
	// olderEnum is set if enum must have unique items, which the library checks in quadratic time.
	olderEnum bool

	seen             map[string]bool // pointers of the subschemas; true if keywords reach the subschema
	onlyReferences   bool            // only references reach the visited subschema
	pointerBytes     int             // bytes of all pointers
	work             int
	enclosingIDBytes int // bytes of the ids that enclose the visited subschema
	idBytes          int // bytes of all ids
	idCount          int
	refCount         int
	referencedCount  int
	longestNumber    int             // the length of the longest number
	targets          []string        // JSON pointers in references
	isTarget         map[string]bool // the targets as a set

	names        []reference // every $schema, $id and reference
	anchors      []string    // pointers of subschemas with a $dynamicAnchor
	hasDialect   bool        // the schema has a $schema
	tuplePointer string      // pointer of the first array in "items", or ""
	usesNewest   bool        // the schema uses a keyword of 2020-12 only
}

// A reference is a keyword that names a schema, such as $ref or $id, with its pointer and text.
type reference struct{ pointer, keyword, text string }

// newSurvey surveys a schema. It returns an error if the schema would be too expensive to compile.
func newSurvey(doc any, spoken dialect) (*survey, error) {
	sv := &survey{
		doc:        doc,
		patterns:   &patterns{cache: map[string]*pattern{}},
		olderEnum:  spoken.isOlder(),
		seen:       map[string]bool{},
		isTarget:   map[string]bool{},
		hasDialect: memberOf(doc, "$schema") != nil,
	}
	if err := sv.addValueWork(doc, valueWork); err != nil {
		return nil, err
	}
	if err := sv.visit(doc, "", 1); err != nil {
		return nil, err
	}
	sv.onlyReferences = true
	sv.enclosingIDBytes = sv.idBytes
	// Following a target may add targets.
	for i := 0; i < len(sv.targets); i++ {
		if err := sv.visitTarget(sv.targets[i]); err != nil {
			return nil, err
		}
	}
	n := len(sv.seen)
	sv.work += n * n * 5 / 2              // the library searches a list for each subschema
	sv.work += n * (sv.pointerBytes / 40) // it compares pointers with long common prefixes
	sv.work += sv.referencedCount * (n + sv.idCount) * copyWork
	sv.work += (n + sv.refCount) * (sv.idCount*20 + sv.idBytes/20)
	sv.work += len(sv.anchors) * len(sv.anchors) * 5
	return sv, sv.checkWork()
}

// checkWork returns an error if the compilation would take too long.
func (sv *survey) checkWork() error {
	if sv.work <= maxCompileWork {
		return nil
	}
	return tooComplex("", "it would take too long to compile (%d subschemas, %d of them only reached by $ref, %d ids)",
		len(sv.seen), sv.referencedCount, sv.idCount)
}

// addValueWork adds the work for each value in a part of the schema.
func (sv *survey) addValueWork(v any, each int) error {
	sv.work += each
	if n, ok := v.(json.Number); ok {
		sv.longestNumber = max(sv.longestNumber, digitsOf(n))
		if sv.longestNumber > maxDigits {
			return tooComplex("", "a number in it has more than %d digits", maxDigits)
		}
	}
	for item := range children(v) {
		if err := sv.addValueWork(item, each); err != nil {
			return err
		}
	}
	return sv.checkWork()
}

// visitTarget visits the target of a reference, unless keywords reach it too, as in
// {"$ref":"#/components/x"}.
func (sv *survey) visitTarget(pointer string) error {
	if sv.seen[pointer] {
		return nil
	}
	target, ok := lookup(sv.doc, pointerTokens(pointer))
	if !ok && sv.idCount == 0 {
		return nil // the library reports the missing target
	}
	sv.referencedCount++
	if ok {
		if err := sv.visit(target, pointer, 1); err != nil {
			return err
		}
	} else {
		target = sv.doc // the target is somewhere below an $id
	}
	if sv.referencedCount*len(sv.seen)*copyWork > maxCompileWork {
		sv.work = maxCompileWork + 1 // too much already: newSurvey would only add to it
	}
	return sv.addValueWork(target, extraWork)
}

// visit surveys a subschema and its subschemas. ptr is its JSON pointer.
func (sv *survey) visit(v any, ptr string, nesting int) error {
	if _, ok := sv.seen[ptr]; ok {
		return nil
	}
	sv.seen[ptr] = !sv.onlyReferences
	sv.pointerBytes += len(ptr)
	sv.work += 12_000 + 1_000*nesting
	if len(sv.seen) > maxSubschemas {
		return tooComplex("", "it has more than %d subschemas", maxSubschemas)
	}
	if nesting > maxNesting {
		return tooComplex(ptr, "its subschemas are nested deeper than %d levels", maxNesting)
	}
	if sv.pointerBytes > maxSchemaBytes*4 {
		sv.work = maxCompileWork + 1 // too much; checkWork returns the error
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return sv.checkWork()
	}
	outerIDBytes := sv.enclosingIDBytes
	defer func() { sv.enclosingIDBytes = outerIDBytes }()
	sv.recordNames(obj, ptr)
	sv.recordLists(obj, ptr)
	if err := sv.compilePatterns(obj, ptr); err != nil {
		return err
	}
	if err := sv.checkWork(); err != nil {
		return err
	}
	for relative, sub := range schema.Subschemas(obj) {
		if err := sv.visit(sub, ptr+relative, nesting+1); err != nil {
			return err
		}
	}
	return nil
}

// recordNames records the names and references of a subschema.
func (sv *survey) recordNames(obj map[string]any, ptr string) {
	for _, kw := range []string{"$id", "id"} {
		if id, ok := obj[kw].(string); ok {
			sv.idCount++
			sv.enclosingIDBytes += len(id)
			sv.idBytes += len(id)
			sv.work += joinWork * sv.enclosingIDBytes
		}
	}
	if d, ok := dialectNamed(fmt.Sprint(obj["$schema"])); ok && d.isOlder() {
		sv.olderEnum = true
	}
	if _, ok := obj["$dynamicAnchor"].(string); ok {
		sv.anchors = append(sv.anchors, ptr)
	}
	for _, kw := range []string{"$id", "$schema", "$dynamicRef", "$recursiveRef", "$ref"} {
		text, ok := obj[kw].(string)
		if !ok {
			continue
		}
		sv.names = append(sv.names, reference{ptr, kw, text})
		if kw == "$id" || kw == "$schema" {
			continue
		}
		sv.refCount++
		sv.work += joinWork * (sv.enclosingIDBytes + len(text))
		_, target, _ := strings.Cut(text, "#")
		target = unescapePath(target)
		if strings.HasPrefix(target, "/") && !sv.isTarget[target] {
			sv.isTarget[target] = true
			sv.targets = append(sv.targets, target)
		}
	}
}

// recordLists records tuples and the work for lists whose items must be unique by the meta-schema.
// The library compares arrays and objects pair by pair, because its hash has many collisions.
func (sv *survey) recordLists(obj map[string]any, ptr string) {
	if _, ok := obj["items"].([]any); ok && sv.tuplePointer == "" {
		sv.tuplePointer = ptr + "/items"
	}
	_, hasPrefixItems := obj["prefixItems"]
	_, hasDynamicRef := obj["$dynamicRef"]
	sv.usesNewest = sv.usesNewest || hasPrefixItems || hasDynamicRef
	lists := []any{obj["required"], obj["type"]}
	if sv.olderEnum {
		lists = append(lists, obj["enum"])
	}
	for _, kw := range []string{"dependentRequired", "dependencies"} {
		named, _ := obj[kw].(map[string]any)
		lists = slices.AppendSeq(lists, maps.Values(named))
	}
	for _, list := range lists {
		items, _ := list.([]any)
		size := 0
		isNested := false
		for _, item := range items {
			itemSize := sizeOf(item)
			size += itemSize
			isNested = isNested || itemSize > 1
		}
		if isNested {
			sv.work += 700 * size * len(items)
		}
	}
}

// sizeOf returns the number of values in a value, including itself. An array or object counts
// twice.
func sizeOf(v any) int {
	n := 1
	switch v.(type) {
	case []any, map[string]any:
		n = 2
	}
	for item := range children(v) {
		n += sizeOf(item)
	}
	return n
}

// compilePatterns compiles the regular expressions of a subschema, whose cost counts for the schema.
func (sv *survey) compilePatterns(obj map[string]any, ptr string) error {
	if source, ok := obj["pattern"].(string); ok {
		if _, err := sv.patterns.compile(source); err != nil {
			return tooComplex(ptr+"/pattern", "%v", err)
		}
	}
	named, _ := obj["patternProperties"].(map[string]any)
	for _, source := range slices.Sorted(maps.Keys(named)) {
		if _, err := sv.patterns.compile(source); err != nil {
			return tooComplex(ptr+"/patternProperties"+jsonraw.Pointer("", source), "%v", err)
		}
	}
	return nil
}

// chooseDialect returns the dialect to use. Many servers write tuples as an array in "items" without a
// $schema. This is invalid in 2020-12 and valid in 2019-09, the most similar dialect.
func (sv *survey) chooseDialect(spoken dialect) (dialect, []wire.Finding) {
	if sv.hasDialect || sv.tuplePointer == "" || sv.usesNewest {
		return spoken, nil
	}
	older := dialects[1]
	return older, []wire.Finding{{
		Rule:     "dialect",
		Severity: wire.Warning,
		Pointer:  sv.tuplePointer,
		Text: fmt.Sprintf("an array in \"items\" is not %s, and there is no \"$schema\": read as %s",
			spoken.name, older.name),
		Want: `"prefixItems"`,
		Got:  `"items"`,
	}}
}
