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

// table reads the table when it is first asked for.
var table = sync.OnceValue(func() *shapes { return parse(text) })

// shapes is the table.
type shapes struct {
	revisions []string
	messages  []message
	// byMethod are the messages of each method.
	byMethod map[string][]message
	kinds    map[string]*kind
}

// A message says which shape a method has, and in which revisions.
type message struct {
	kind, method string
	span
	shape *kind
}

// A span is revisions by their numbers, from the first to the last.
type span struct{ from, to int }

func (s span) in(revision int) bool { return s.from <= revision && revision <= s.to }

// A kind is what a value may be: one of its members is set.
type kind struct {
	// name is that of a definition, "" where it stands inside of one.
	name string
	// word is string, integer, natural, number, fraction, boolean, object, null, any,
	// nothing, or a text in quotes that must stand as it is.
	word    string
	items   *kind // of a list, which has at most most of them, or any number for 0
	most    int
	values  *kind // of an object whose members have any names
	members []member
	// several are the kinds of which it is one, and spans when each is.
	several kinds
	spans   []span
}

type kinds []*kind

type member struct {
	name string
	may  bool // be left out
	mild bool // matters little where it is left out
	span
	kind *kind
}

func (t *shapes) shapeOf(kind, method string, at int) *kind {
	for _, m := range t.byMethod[method] {
		if m.kind == kind && m.in(at) {
			return m.shape
		}
	}
	return nil
}

// parse reads a table, which is a part of the program: what is wrong with it is found by
// any test.
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
			m := message{kind: words[0], method: words[1], shape: t.named(words[2]), span: t.span(words[3:])}
			t.messages, t.byMethod[m.method] = append(t.messages, m), append(t.byMethod[m.method], m)
		default:
			t.define(line)
		}
	}
	for name, k := range t.kinds {
		if k.several == nil && k.members == nil {
			panic("shapes.txt defines no " + name)
		}
	}
	return t
}

// named is the definition of that name, which may come later.
func (t *shapes) named(name string) *kind {
	if t.kinds[name] == nil {
		t.kinds[name] = &kind{name: name}
	}
	return t.kinds[name]
}

func (t *shapes) span(words []string) span {
	if len(words) == 0 {
		return span{1, len(t.revisions)}
	}
	from, to, ends := strings.Cut(strings.TrimPrefix(words[0], "@"), "-")
	s := span{number(from), len(t.revisions)}
	if ends {
		s.to = number(to)
	}
	return s
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		panic(err)
	}
	return n
}

func (t *shapes) define(line string) {
	if name, types, ok := strings.Cut(line, " = "); ok {
		t.several(t.named(name), types)
		return
	}
	name, members, _ := strings.Cut(line, ": ")
	k := t.named(name)
	k.members = []member{}
	for one := range strings.SplitSeq(members, ", ") {
		words := strings.Fields(one)
		if base, ok := strings.CutPrefix(words[0], "+"); ok {
			if t.named(base).members == nil {
				panic("shapes.txt has no " + base + " before " + k.name)
			}
			k.members = append(k.members, t.named(base).members...)
			continue
		}
		name, may := strings.CutSuffix(words[0], "?")
		name, mild := strings.CutSuffix(name, "~")
		k.members = append(k.members, member{name, may, mild, t.span(words[2:]), t.kind(words[1])})
	}
}

// kind reads a type.
func (t *shapes) kind(word string) *kind {
	end := strings.LastIndexAny(word, "]}")
	switch {
	case word[0] == '[' && !strings.Contains(word, "|"):
		k := &kind{items: t.kind(word[1:end])}
		if most := word[end+1:]; most != "" {
			k.most = number(most)
		}
		return k
	case word[0] == '{':
		return &kind{values: t.kind(word[1:end])}
	case strings.Contains(word, "|"):
		k := &kind{}
		t.several(k, word)
		return k
	case word[0] >= 'A' && word[0] <= 'Z':
		return t.named(word)
	}
	return &kind{word: word}
}

func (t *shapes) several(k *kind, types string) {
	for one := range strings.SplitSeq(types, "|") {
		word, since, dated := strings.Cut(one, "@")
		s := t.span(nil)
		if dated {
			s = t.span([]string{since})
		}
		k.several, k.spans = append(k.several, t.kind(word)), append(k.spans, s)
	}
}

// inRevision are the kinds that there are in a revision, those of other definitions in
// the place of these.
func (k *kind) inRevision(revision int) (there kinds) {
	for i, o := range k.several {
		switch {
		case !k.spans[i].in(revision):
		case o.several != nil:
			there = append(there, o.inRevision(revision)...)
		default:
			there = append(there, o)
		}
	}
	return there
}

// optional reports that a value may be missing.
func (k *kind) optional() bool {
	return slices.ContainsFunc(k.several, func(o *kind) bool { return o.word == "nothing" })
}

// holdsPlain reports whether a value is of one of several kinds; plain is false where not all
// of them are plain.
func (k *kind) holdsPlain(raw json.RawMessage, revision int) (holds, plain bool) {
	plain = true
	for i, o := range k.several {
		switch {
		case !k.spans[i].in(revision):
		case o.several != nil:
			inner, innerPlain := o.holdsPlain(raw, revision)
			holds = holds || inner
			plain = plain && innerPlain
		case o.word == "":
			plain = false
		case !holds:
			holds = o.holds(raw)
		}
	}
	return holds, plain
}

// plainlyHolds reports a value of a plain kind, or of several that are all plain: most values
// are, and then nothing has to be noted of the place.
func (k *kind) plainlyHolds(raw json.RawMessage, revision int) bool {
	if k.several == nil {
		return k.word != "" && k.holds(raw)
	}
	holds, plain := k.holdsPlain(raw, revision)
	return holds && plain
}

// words are the plain kinds; nil where one of them is not plain.
func (k kinds) words() (all []string) {
	for _, o := range k {
		if o.word == "" {
			return nil
		}
		all = append(all, o.said())
	}
	return all
}

// discriminator is the member by which objects name their kind, "" where there is none.
func (k kinds) discriminator(revision int) string {
	for _, o := range k {
		for _, m := range o.members {
			if m.in(revision) && m.kind.literal() {
				return m.name
			}
		}
	}
	return ""
}

// namedBy reports whether an object with that mark can be of the kind; mark is nil where
// there is none.
func (k *kind) namedBy(name string, mark json.RawMessage, revision int) bool {
	for _, m := range k.members {
		if m.name == name && m.in(revision) {
			return mark == nil && m.may || mark != nil && m.kind.holds(mark)
		}
	}
	return k.members == nil && k.items == nil
}

// marks are the texts that the mark may be.
func (k kinds) marks(name string, revision int) *kind {
	all := &kind{}
	for _, o := range k {
		for _, m := range o.members {
			if m.name == name && m.in(revision) {
				all.several, all.spans = append(all.several, m.kind), append(all.spans, m.span)
			}
		}
	}
	return all
}

func (k *kind) literal() bool { return strings.HasPrefix(k.word, `"`) }

// holds reports whether a value is of a plain kind.
func (k *kind) holds(raw json.RawMessage) bool {
	first := raw[0]
	digit := first == '-' || first >= '0' && first <= '9'
	switch k.word {
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
		return digit
	case "integer", "natural", "fraction":
		n, err := strconv.ParseFloat(string(raw), 64)
		if !digit || err != nil {
			return false
		}
		if k.word == "fraction" {
			return n >= 0 && n <= 1
		}
		return n == math.Trunc(n) && (n >= 0 || k.word == "integer")
	}
	if string(raw) == k.word {
		return true
	}
	text, ok := jsonraw.Text(raw)
	return ok && k.word == strconv.Quote(text)
}

// said is a plain kind in words.
func (k *kind) said() string {
	switch k.word {
	case "integer", "object":
		return "an " + k.word
	case "natural":
		return "an integer of 0 or more"
	case "fraction":
		return "a number from 0 to 1"
	case "boolean":
		return "true or false"
	case "null":
		return k.word
	}
	if k.literal() {
		return k.word
	}
	return "a " + k.word
}

// wanted names the type of a missing value, "" if it may have several.
func (k *kind) wanted() string {
	switch {
	case k.several != nil:
		return ""
	case k.items != nil:
		return "an array"
	case k.values != nil || k.members != nil:
		return "an object"
	case k.word == "" || k.word == "any":
		return ""
	}
	return k.said()
}

func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:last], ", "), words[last])
}
