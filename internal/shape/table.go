package shape

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
)

//go:embed shapes.txt
var text string

// table returns the parsed shapes.txt. The first call parses it.
var table = sync.OnceValue(func() *shapes { return parse(text) })

// shapes is the parsed shapes.txt.
type shapes struct {
	revisions []string
	messages  []message
	// byMethod has the messages of each method.
	byMethod map[string][]message
	kinds    map[string]*kind
}

// A message is the shape of a result, notification or request of a method in some revisions.
type message struct {
	kind, method string
	span
	shape *kind
}

// A span is a range of revisions by number, counted from 1.
type span struct{ from, to int }

// contains reports whether the span contains a revision.
func (s span) contains(revision int) bool { return s.from <= revision && revision <= s.to }

// A kind is the type of a value. Exactly one of plain, items, values, members and alternatives is
// set.
type kind struct {
	// name is the name of a definition, or "" if the type is inside a definition.
	name string
	// plain is string, integer, natural, number, fraction, boolean, object, null, any, nothing, or
	// a quoted string that the value must equal.
	plain    string
	items    *kind // the items of a list
	maxItems int
	values   *kind // the members of an object with any names
	members  []member
	// alternatives are the kinds that the value may have, each in its span of revisions.
	alternatives kinds
	spans        []span // by the index of the alternative
}

// kinds are alternatives.
type kinds []*kind

// A member is a member of an object in some revisions.
type member struct {
	name       string
	isOptional bool // may be missing
	isMild     bool // is often missing, and clients do not need it
	span
	kind *kind
}

// shapeOf returns the shape of a message of a method in a revision, or nil if it has no shape. kind
// is result, notification or request.
func (t *shapes) shapeOf(kind, method string, at int) *kind {
	for _, m := range t.byMethod[method] {
		if m.kind == kind && m.contains(at) {
			return m.shape
		}
	}
	return nil
}

// parse parses shapes.txt. It panics if the text is invalid, since the text is a part of the
// program.
func parse(text string) *shapes {
	t := &shapes{kinds: map[string]*kind{}, byMethod: map[string][]message{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		if line == "" || line[0] == '#' {
			continue
		}
		switch words[0] {
		case "revisions":
			t.revisions = words[1:]
		case "result", "notification", "request":
			m := message{kind: words[0], method: words[1], shape: t.definition(words[2]), span: t.parseSpan(words[3:])}
			t.messages = append(t.messages, m)
			t.byMethod[m.method] = append(t.byMethod[m.method], m)
		default:
			t.define(line)
		}
	}
	for name, k := range t.kinds {
		if k.alternatives == nil && k.members == nil {
			panic("shapes.txt defines no " + name)
		}
	}
	return t
}

// definition returns the definition with a name. It adds an empty one if the text has not defined
// it yet.
func (t *shapes) definition(name string) *kind {
	if t.kinds[name] == nil {
		t.kinds[name] = &kind{name: name}
	}
	return t.kinds[name]
}

// parseSpan parses "@2-4" or "@2-"; no words are all revisions.
func (t *shapes) parseSpan(words []string) span {
	if len(words) == 0 {
		return span{1, len(t.revisions)}
	}
	from, to, hasEnd := strings.Cut(strings.TrimPrefix(words[0], "@"), "-")
	s := span{mustAtoi(from), len(t.revisions)}
	if hasEnd {
		s.to = mustAtoi(to)
	}
	return s
}

// mustAtoi parses a number, and panics if digits is not a number.
func mustAtoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

// define parses a definition: "NAME = TYPES" or "NAME: MEMBERS". A member +NAME stands for the members of an
// earlier definition.
func (t *shapes) define(line string) {
	if name, types, ok := strings.Cut(line, " = "); ok {
		t.parseAlternatives(t.definition(name), types)
		return
	}
	name, members, _ := strings.Cut(line, ": ")
	k := t.definition(name)
	k.members = []member{}
	for text := range strings.SplitSeq(members, ", ") {
		words := strings.Fields(text)
		if base, ok := strings.CutPrefix(words[0], "+"); ok {
			if t.definition(base).members == nil {
				panic("shapes.txt has no " + base + " before " + k.name)
			}
			k.members = append(k.members, t.definition(base).members...)
			continue
		}
		name, isOptional := strings.CutSuffix(words[0], "?")
		name, isMild := strings.CutSuffix(name, "~")
		k.members = append(k.members, member{
			name: name, isOptional: isOptional, isMild: isMild,
			span: t.parseSpan(words[2:]), kind: t.parseKind(words[1]),
		})
	}
}

// parseKind parses a type: "[ITEM]" or "[ITEM]MAXIMUM", "{VALUE}", "TYPE|TYPE", the NAME of a definition, or
// a plain type.
func (t *shapes) parseKind(word string) *kind {
	end := strings.LastIndexAny(word, "]}")
	if word[0] == '[' && !strings.Contains(word, "|") {
		k := &kind{items: t.parseKind(word[1:end])}
		if maximum := word[end+1:]; maximum != "" {
			k.maxItems = mustAtoi(maximum)
		}
		return k
	}
	if word[0] == '{' {
		return &kind{values: t.parseKind(word[1:end])}
	}
	if strings.Contains(word, "|") {
		k := &kind{}
		t.parseAlternatives(k, word)
		return k
	}
	if word[0] >= 'A' && word[0] <= 'Z' {
		return t.definition(word)
	}
	return &kind{plain: word}
}

// parseAlternatives adds the types that are separated by | to k.
func (t *shapes) parseAlternatives(k *kind, types string) {
	for text := range strings.SplitSeq(types, "|") {
		word, revisions, hasRevisions := strings.Cut(text, "@")
		s := t.parseSpan(nil)
		if hasRevisions {
			s = t.parseSpan([]string{revisions})
		}
		k.alternatives = append(k.alternatives, t.parseKind(word))
		k.spans = append(k.spans, s)
	}
}

// alternativesIn returns the alternatives in a revision, including nested alternatives.
func (k *kind) alternativesIn(revision int) kinds {
	var list kinds
	for i, alternative := range k.alternatives {
		if !k.spans[i].contains(revision) {
			continue
		}
		if alternative.alternatives != nil {
			list = append(list, alternative.alternativesIn(revision)...)
		} else {
			list = append(list, alternative)
		}
	}
	return list
}

// isOptional reports whether the value may be missing.
func (k *kind) isOptional() bool {
	return slices.ContainsFunc(k.alternatives, func(o *kind) bool { return o.plain == "nothing" })
}

// matchesPlainAlternative reports whether a value matches an alternative that is plain: a type of JSON, not
// an object of the specification. Alternatives of other revisions do not count. allPlain reports whether
// all that count are plain.
func (k *kind) matchesPlainAlternative(raw json.RawMessage, revision int) (matches, allPlain bool) {
	allPlain = true
	for i, alternative := range k.alternatives {
		if !k.spans[i].contains(revision) {
			continue
		}
		if alternative.alternatives != nil {
			innerMatches, innerPlain := alternative.matchesPlainAlternative(raw, revision)
			matches = matches || innerMatches
			allPlain = allPlain && innerPlain
		} else if alternative.plain == "" {
			allPlain = false
		} else {
			matches = matches || alternative.matches(raw)
		}
	}
	return matches, allPlain
}

// matchesPlainly reports whether a value matches a plain kind, or alternatives that are all plain.
// This is true for most values, and needs no path.
func (k *kind) matchesPlainly(raw json.RawMessage, revision int) bool {
	if k.alternatives == nil {
		return k.plain != "" && k.matches(raw)
	}
	matches, allPlain := k.matchesPlainAlternative(raw, revision)
	return matches && allPlain
}

// descriptions returns the descriptions of plain kinds, or nil if a kind is not plain.
func (k kinds) descriptions() []string {
	var all []string
	for _, one := range k {
		if one.plain == "" {
			return nil
		}
		all = append(all, one.describe())
	}
	return all
}

// discriminator returns the name of the member that names the kind of an object, or "" without such
// a member. The value of that member is a literal in at least one of the kinds.
func (k kinds) discriminator(revision int) string {
	for _, one := range k {
		for _, m := range one.members {
			if m.contains(revision) && m.kind.isLiteral() {
				return m.name
			}
		}
	}
	return ""
}

// matchesDiscriminator reports whether an object can be of kind k. value is the object's member
// called name, the discriminator, or nil if the object has no such member.
func (k *kind) matchesDiscriminator(name string, value json.RawMessage, revision int) bool {
	for _, m := range k.members {
		if m.name == name && m.contains(revision) {
			if value == nil {
				return m.isOptional
			}
			return m.kind.matches(value)
		}
	}
	return k.members == nil && k.items == nil
}

// discriminatorKind returns the kind of the member called name, the discriminator of the kinds: its
// alternatives are the values that the member may have in a revision, over all kinds.
func (k kinds) discriminatorKind(name string, revision int) *kind {
	merged := &kind{}
	for _, one := range k {
		for _, m := range one.members {
			if m.name == name && m.contains(revision) {
				merged.alternatives = append(merged.alternatives, m.kind)
				merged.spans = append(merged.spans, m.span) // each alternative has a span of revisions
			}
		}
	}
	return merged
}

// isLiteral reports whether k is a quoted string.
func (k *kind) isLiteral() bool { return strings.HasPrefix(k.plain, `"`) }

// matches reports whether a value is of a plain kind.
func (k *kind) matches(raw json.RawMessage) bool {
	first := raw[0]
	isNumber := first == '-' || first >= '0' && first <= '9'
	switch k.plain {
	case "string":
		return first == '"'
	case "boolean":
		return first == 't' || first == 'f'
	case "null":
		return first == 'n'
	case "object":
		return first == '{'
	case "any":
		return true
	case "number":
		return isNumber
	case "integer", "natural", "fraction":
		n, err := strconv.ParseFloat(string(raw), 64)
		if !isNumber || err != nil {
			return false
		}
		if k.plain == "fraction" {
			return n >= 0 && n <= 1
		}
		return n == math.Trunc(n) && (n >= 0 || k.plain == "integer")
	}
	if string(raw) == k.plain {
		return true
	}
	text, ok := jsonraw.Text(raw)
	return ok && k.plain == strconv.Quote(text)
}

// describe returns a plain kind in words.
func (k *kind) describe() string {
	switch k.plain {
	case "integer", "object":
		return "an " + k.plain
	case "natural":
		return "an integer of 0 or more"
	case "fraction":
		return "a number from 0 to 1"
	case "boolean":
		return "true or false"
	case "null":
		return k.plain
	}
	if k.isLiteral() {
		return k.plain
	}
	return "a " + k.plain
}

// wantedType returns the type of a missing value in words; "" if there are several.
func (k *kind) wantedType() string {
	if k.alternatives != nil {
		return ""
	}
	if k.items != nil {
		return "an array"
	}
	if k.values != nil || k.members != nil {
		return "an object"
	}
	if k.plain == "" || k.plain == "any" {
		return ""
	}
	return k.describe()
}

// joinWithOr returns "A, B or C".
func joinWithOr(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:last], ", "), words[last])
}
