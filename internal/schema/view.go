package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
)

// A view is the combined constraints of a conjunction of subschemas, with references resolved and
// allOf merged.
type view struct {
	types    Types
	enum     []json.RawMessage // canonical and sorted; nil allows all values
	limits   map[string]limit
	isUnique bool
	// sets are the patterns, formats and divisors. A value has to match all of them.
	sets map[string][]json.RawMessage

	members      map[string][]part
	required     map[string]bool
	isClosed     bool   // no other members
	otherMembers []part // the schemas of other members
	prefix       [][]part
	items        []part

	groups []group
	// opaque are keywords whose effect is not analyzed, in canonical form.
	opaque map[string][]json.RawMessage
	notes  map[string]json.RawMessage
}

// A limit is one bound of a range.
type limit struct {
	number    string
	exclusive bool
	keyword   string
	raw       json.RawMessage
}

// A group is one anyOf or oneOf.
type group struct {
	keyword      string
	alternatives [][]part
}

// bounds are the keywords that limit one end of a range. Keywords with the same end limit the same
// quantity.
var bounds = map[string]struct {
	kind, end        string
	upper, exclusive bool
	of               Types
}{
	"minimum":          {"range", "number-low", false, false, Number},
	"exclusiveMinimum": {"range", "number-low", false, true, Number},
	"maximum":          {"range", "number-high", true, false, Number},
	"exclusiveMaximum": {"range", "number-high", true, true, Number},
	"minLength":        {"length", "length-low", false, false, String},
	"maxLength":        {"length", "length-high", true, false, String},
	"minItems":         {"count", "items-low", false, false, Array},
	"maxItems":         {"count", "items-high", true, false, Array},
	"minProperties":    {"count", "members-low", false, false, Object},
	"maxProperties":    {"count", "members-high", true, false, Object},
}

// ends are the ends in bounds, in the order of their comparison.
var ends = []string{
	"number-low", "number-high", "length-low", "length-high", "items-low", "items-high", "members-low", "members-high",
}

// opaqueKeywords are compared as they are written, because the effect of a change is not analyzed.
var opaqueKeywords = wordSet(
	"not if then else patternProperties propertyNames dependentRequired dependentSchemas dependencies " +
		"contains minContains maxContains unevaluatedItems unevaluatedProperties contentEncoding contentMediaType " +
		"contentSchema $dynamicRef $recursiveRef $dynamicAnchor $recursiveAnchor",
)

// comparedKeywords are the keywords that this package compares. Others are notes: JSON Schema
// treats an unknown keyword as an annotation (2020-12 core, section 6.5).
var comparedKeywords = sync.OnceValue(func() map[string]bool {
	all := wordSet(
		"type enum const multipleOf pattern format uniqueItems properties required additionalProperties items " +
			"prefixItems additionalItems anyOf oneOf allOf $ref",
	)()
	for name := range bounds {
		all[name] = true
	}
	for name := range opaqueKeywords() {
		all[name] = true
	}
	return all
})

// maxConjuncts bounds the subschemas that apply at one place.
const maxConjuncts = 1000

// readView combines some parts into one view. It returns false if there are too many parts or
// bytes.
func (c *comparison) readView(parts []part) (*view, bool) {
	v := &view{
		types: AllTypes, limits: map[string]limit{}, sets: map[string][]json.RawMessage{},
		members: map[string][]part{}, required: map[string]bool{},
		opaque: map[string][]json.RawMessage{}, notes: map[string]json.RawMessage{},
	}
	queue := slices.Clone(parts)
	followed := map[string]bool{}
	for i := 0; i < len(queue); i++ {
		p := queue[i]
		if !c.spend(len(p.raw)) || i > maxConjuncts {
			return v, false
		}
		members, err := jsonraw.Object(p.raw)
		if string(bytes.Trim(p.raw, jsonraw.WhiteSpace)) == "false" {
			v.types = 0
		} else if err != nil {
			continue
		}
		for _, m := range members {
			c.addKeyword(v, p.member(m.Name, m.Value), m.Name, members)
		}
		for _, conjunct := range conjuncts(p, members) {
			ref, isRef := jsonraw.Text(conjunct.raw)
			if !isRef {
				queue = append(queue, conjunct)
				continue
			}
			target, ok := p.resolve(ref)
			if !ok {
				v.addOpaque("$ref", jsonraw.List([]json.RawMessage{conjunct.raw, c.documentHash(p.doc)}))
				continue
			}
			if !followed[target.pointer] {
				followed[target.pointer] = true
				queue = append(queue, target)
			}
		}
	}
	v.normalize()
	return v, c.bytesLeft > 0
}

// addOpaque adds the value of a keyword whose effect is not analyzed.
func (v *view) addOpaque(keyword string, value json.RawMessage) {
	v.opaque[keyword] = append(v.opaque[keyword], value)
}

// normalize brings equivalent constraints into one form.
func (v *view) normalize() {
	if v.enum != nil {
		listed := Types(0) // the types of the values
		v.enum = slices.DeleteFunc(v.enum, func(value json.RawMessage) bool { return v.types&TypeOf(value) == 0 })
		for _, value := range v.enum {
			listed |= TypeOf(value)
		}
		v.types &= listed
	}
	for _, values := range v.opaque {
		sliceutil.Sort(values, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	}
	for name, values := range v.sets {
		v.sets[name] = sortUnique(values)
	}
}

// sortUnique sorts values by their bytes and removes duplicates. It modifies the argument.
func sortUnique(values []json.RawMessage) []json.RawMessage {
	sliceutil.Sort(values, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	return slices.CompactFunc(values, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}

// addKeyword adds one keyword of a subschema to a view. siblings are all keywords of the subschema.
func (c *comparison) addKeyword(v *view, p part, name string, siblings jsonraw.Members) {
	bound, isBound := bounds[name]
	switch {
	case name == "$ref" || name == "allOf": // readView follows them
	case name == "type":
		types, ok := ParseTypes(p.raw)
		v.types &= types
		if !ok {
			v.addOpaque(name, jsonraw.Canonical(p.raw))
		}
	case name == "enum" || name == "const":
		v.intersectEnum(name, p.raw)
	case isBound && jsonraw.IsNumber(p.raw):
		v.tighten(bound.end, bound.upper, limit{string(p.raw), bound.exclusive, name, p.raw})
	case name == "uniqueItems" && TypeOf(p.raw) == Boolean:
		v.isUnique = v.isUnique || string(p.raw) == "true"
	case name == "pattern" || name == "format" || name == "multipleOf":
		v.sets[name] = append(v.sets[name], jsonraw.Canonical(p.raw))
	case c.addObjectKeyword(v, p, name) || c.addArrayKeyword(v, p, name, siblings): // added by the condition
	case name == "anyOf" || name == "oneOf":
		items, _ := jsonraw.Array(p.raw)
		g := group{keyword: name}
		for i, item := range items {
			g.alternatives = append(g.alternatives, []part{p.item(i, item)})
		}
		v.groups = append(v.groups, g)
	case isVacuous(name, p.raw): // has no effect
	case opaqueKeywords()[name] || isBound || name == "uniqueItems":
		v.addOpaque(name, c.canonicalKeyword(p, name))
	default:
		if v.notes[name] == nil && name != "$defs" && name != "definitions" {
			v.notes[name] = p.raw
		}
	}
}

// isVacuous reports whether an opaque keyword accepts every value. Schema generators write such
// keywords: each member's name is a string, so propertyNames with this type accepts all names.
func isVacuous(name string, value json.RawMessage) bool {
	switch name {
	case "propertyNames":
		members, _ := jsonraw.Object(value)
		return acceptsAll(value) || len(members) == 1 && members.Text("type") == "string"
	case "unevaluatedItems", "unevaluatedProperties":
		return acceptsAll(value)
	case "patternProperties", "dependentRequired", "dependentSchemas", "dependencies":
		return isEmptyObject(value)
	}
	return false
}

// acceptsAll reports whether a schema is true or {}.
func acceptsAll(schema json.RawMessage) bool {
	return string(schema) == "true" || isEmptyObject(schema)
}

// isEmptyObject reports whether a value is {}.
func isEmptyObject(value json.RawMessage) bool {
	members, err := jsonraw.Object(value)
	return err == nil && len(members) == 0
}

// addObjectKeyword adds a keyword about the members of an object. It reports whether the view
// contains the keyword's effect.
func (c *comparison) addObjectKeyword(v *view, p part, name string) bool {
	switch name {
	case "properties":
		members, _ := jsonraw.Object(p.raw)
		for _, m := range members {
			v.members[m.Name] = append(v.members[m.Name], p.member(m.Name, m.Value))
		}
	case "required":
		items, err := jsonraw.Array(p.raw)
		for _, item := range items {
			if word, ok := jsonraw.Text(item); ok {
				v.required[word] = true
			}
		}
		return err == nil
	case "additionalProperties":
		if string(p.raw) == "false" {
			v.isClosed = true
		} else if string(p.raw) != "true" {
			v.otherMembers = append(v.otherMembers, p)
		}
	default:
		return false
	}
	return true
}

// addArrayKeyword adds a keyword about the items of an array and reports whether name is one.
// Before 2020-12, items held the list that is now prefixItems, and additionalItems the rest.
func (c *comparison) addArrayKeyword(v *view, p part, name string, siblings jsonraw.Members) bool {
	if name != "prefixItems" && name != "items" && name != "additionalItems" {
		return false
	}
	list, notArray := jsonraw.Array(p.raw)
	_, isList := siblings.Get("prefixItems")
	if bytes.HasPrefix(bytes.TrimLeft(siblings.Value("items"), jsonraw.WhiteSpace), []byte("[")) {
		isList = true
	}
	if (name == "prefixItems" || name == "items") && notArray == nil {
		for i, item := range list {
			if i == len(v.prefix) {
				v.prefix = append(v.prefix, nil)
			}
			v.prefix[i] = append(v.prefix[i], p.item(i, item))
		}
	} else if name == "items" || name == "additionalItems" && isList {
		v.items = append(v.items, p)
	}
	return true // additionalItems without a list has no effect
}

// intersectEnum removes the values that enum or const, the keyword called name, does not allow.
func (v *view) intersectEnum(name string, raw json.RawMessage) {
	values := []json.RawMessage{raw}
	if name == "enum" {
		values, _ = jsonraw.Array(raw)
	}
	values = sortCanonical(values)
	if v.enum != nil {
		values = slices.DeleteFunc(values, func(value json.RawMessage) bool { return !containsSorted(v.enum, value) })
	}
	v.enum = values
}

// containsSorted reports whether a sorted list contains a value.
func containsSorted(values []json.RawMessage, value json.RawMessage) bool {
	_, found := slices.BinarySearchFunc(values, value, func(x, y json.RawMessage) int { return bytes.Compare(x, y) })
	return found
}

// tighten sets one end of a range unless the view has a tighter limit.
func (v *view) tighten(end string, upper bool, l limit) {
	if zero, ok := compareNumbers(l.number, "0"); end != "number-low" && !upper && ok && zero <= 0 {
		return // a length of at least 0
	}
	old, exists := v.limits[end]
	if tighter, ok := compareLimits(old, l, upper); !exists || ok && tighter > 0 {
		v.limits[end] = l
	}
}

// compareLimits returns 1 if b is tighter than a, -1 if it is looser. upper reports whether they
// are upper limits. It returns false if the numbers cannot be compared.
func compareLimits(a, b limit, upper bool) (int, bool) {
	order, ok := compareNumbers(b.number, a.number)
	if upper {
		order = -order
	}
	if order == 0 && a.exclusive != b.exclusive {
		order = -1
		if b.exclusive {
			order = 1
		}
	}
	return order, ok
}

// canonicalKeyword returns a keyword's value for comparison, with its references replaced by their
// targets. If this is impossible, the value is paired with the hash of the whole document.
func (c *comparison) canonicalKeyword(p part, name string) json.RawMessage {
	w := inliner{following: map[string]bool{}, budget: &c.bytesLeft}
	w.writeKeyword(p, name)
	if w.failed {
		return jsonraw.List([]json.RawMessage{jsonraw.Canonical(p.raw), c.documentHash(p.doc)})
	}
	return jsonraw.Canonical(w.out)
}

// documentHash returns the hash of a document. It represents a reference that cannot be followed.
func (c *comparison) documentHash(in *Document) json.RawMessage {
	if c.hashes[in] == nil {
		c.spend(len(in.Bytes()))
		sum := sha256.Sum256(jsonraw.Canonical(in.Bytes()))
		c.hashes[in] = jsonraw.Quote(hex.EncodeToString(sum[:8]))
	}
	return c.hashes[in]
}
