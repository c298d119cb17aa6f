package validate

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"mcpc/internal/jsonraw"
	"mcpc/internal/validate/schemadoc"
)

// Most tools have a plain schema: types, members, items and a few bounds, which mean the same in
// all dialects. A value that conforms to one is found to do so in one pass over its bytes. What
// this pass does not accept goes to the library, which is only then given the schema; so nothing
// here says what is wrong.

// A plain is a subschema of a plain schema. Its zero value accepts everything.
type plain struct {
	never bool // as the schema false
	// kinds are the first bytes of the values of its types, "" for any; whole is set where a
	// number must be an integer.
	kinds string
	whole bool
	// words are those of enum, nil where there is none.
	words      []string
	required   []string
	members    map[string]*plain
	additional *plain
	items      *plain
	value      bounds // of a number
	length     bounds // of a text
	count      bounds // of the items
}

// bounds are those of an integer; nil is none.
type bounds struct{ least, most *int64 }

func (b bounds) isNone() bool { return b.least == nil && b.most == nil }
func (b bounds) holds(n int64) bool {
	return (b.least == nil || n >= *b.least) && (b.most == nil || n <= *b.most)
}

// Bounds of a plain schema, far below those of package budget.
const (
	mostPlain     = 500
	deepestPlain  = 16
	longestNumber = 15 // digits that are compared exactly
	// longestPlain is also that of a value, whose memory stays in use.
	longestPlain = 64 << 10
)

// readPlain reads a schema that is plain; nil where it is not. It is strict: what it takes
// conforms to the meta-schema of each dialect, and leaves nothing unchecked.
func readPlain(doc any) *plain {
	r := plainReader{left: mostPlain}
	if members, ok := doc.(map[string]any); ok {
		if uri, there := members["$schema"]; there {
			if _, ok := uri.(string); !ok {
				return nil
			}
			r.root = true
		}
	}
	p := r.schema(doc, deepestPlain)
	if r.bad {
		return nil
	}
	return p
}

type plainReader struct {
	left int
	// root is set until the root was read, if it has a $schema.
	root, bad bool
}

func (r *plainReader) schema(doc any, deep int) *plain {
	r.left--
	members, ok := doc.(map[string]any)
	if r.left < 0 || deep == 0 || !ok {
		r.bad = true
		return nil
	}
	p := &plain{}
	root := r.root
	r.root = false
	for name, value := range members {
		if name == "$schema" && root {
			continue
		}
		if !r.keyword(p, name, value, deep-1) {
			r.bad = true
			return nil
		}
	}
	return p
}

// keyword takes one keyword; false where it is not plain.
func (r *plainReader) keyword(p *plain, name string, value any, deep int) (ok bool) {
	switch name {
	case "title", "description", "format":
		_, ok = value.(string)
	case "default":
		ok = isSmall(value, deep)
	case "type":
		ok = p.types(value)
	case "enum":
		p.words, ok = texts(value)
	case "required":
		p.required, ok = texts(value)
	case "properties":
		var members map[string]any
		members, ok = value.(map[string]any)
		p.members = make(map[string]*plain, len(members))
		for name, member := range members {
			p.members[name] = r.schema(member, deep)
		}
	case "additionalProperties":
		allowed, isBool := value.(bool)
		if ok = true; isBool {
			p.additional = &plain{never: !allowed}
		} else {
			p.additional = r.schema(value, deep)
		}
	case "items":
		p.items, ok = r.schema(value, deep), true
	case "minimum":
		p.value.least, ok = integer(value)
	case "maximum":
		p.value.most, ok = integer(value)
	case "minLength":
		p.length.least, ok = natural(value)
	case "maxLength":
		p.length.most, ok = natural(value)
	case "minItems":
		p.count.least, ok = natural(value)
	case "maxItems":
		p.count.most, ok = natural(value)
	}
	return ok
}

// isSmall reports a default that costs nothing to look at.
func isSmall(value any, deep int) bool {
	switch v := value.(type) {
	case json.Number:
		return len(v) <= longestNumber && !strings.ContainsAny(string(v), "eE")
	case string, bool, nil:
		return true
	}
	if deep == 0 {
		return false
	}
	for part := range schemadoc.Parts(value) {
		if !isSmall(part, deep-1) {
			return false
		}
	}
	return true
}

var kindsOf = map[string]string{"object": "{", "array": "[", "string": `"`, "boolean": "tf", "null": "n", "number": "-0123456789", "integer": "-0123456789"}

func (p *plain) types(value any) bool {
	names, ok := texts(value)
	if name, one := value.(string); one {
		names, ok = []string{name}, true
	}
	for _, name := range names {
		ok = ok && kindsOf[name] != ""
		p.kinds += kindsOf[name]
	}
	p.whole = slices.Contains(names, "integer") && !slices.Contains(names, "number")
	return ok
}

// texts are the items of a list of different texts, of which there is one at least.
func texts(value any) (all []string, ok bool) {
	items, _ := value.([]any)
	for _, item := range items {
		text, ok := item.(string)
		if !ok || slices.Contains(all, text) {
			return nil, false
		}
		all = append(all, text)
	}
	return all, len(all) > 0
}

func integer(value any) (*int64, bool) {
	number, _ := value.(json.Number)
	n, ok := exact([]byte(number))
	return &n, ok
}

func natural(value any) (*int64, bool) {
	n, ok := integer(value)
	return n, ok && *n >= 0
}

// exact is the value of an integer of a few digits.
func exact(number []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(number), 10, 64)
	return n, err == nil && len(number) <= longestNumber && number[0] != '+'
}

var plainTapes = sync.Pool{New: func() any { return new(jsonraw.Tape) }}

// accepts reports a value that conforms. Of one that it does not report nothing is known.
func (p *plain) accepts(value []byte) bool {
	t := plainTapes.Get().(*jsonraw.Tape)
	defer plainTapes.Put(t)
	return len(value) <= longestPlain && t.Read(value) && p.holds(t, 0)
}

func (p *plain) holds(t *jsonraw.Tape, i int) bool {
	kind := t.Kind(i)
	if p.never || p.kinds != "" && strings.IndexByte(p.kinds, kind) < 0 || p.words != nil && !p.isWord(t, i) {
		return false
	}
	switch kind {
	case '{':
		return p.holdsMembers(t, i)
	case '[':
		n := int64(0)
		for at, end := i+1, t.Next(i); at < end; at = t.Next(at) {
			if n++; p.items != nil && !p.items.holds(t, at) {
				return false
			}
		}
		return p.count.holds(n)
	case '"':
		return p.length.isNone() || !t.Node(i).Escaped && p.length.holds(int64(utf8.RuneCount(t.Raw(i))-2))
	case 't', 'f', 'n':
		return true
	default:
		return p.holdsNumber(t.Raw(i))
	}
}

func (p *plain) isWord(t *jsonraw.Tape, i int) bool {
	return t.Kind(i) == '"' && slices.ContainsFunc(p.words, func(word string) bool { return t.Is(i, word) })
}

// holdsNumber accepts no exponent, with which an integer has many spellings and a few bytes
// make a large number.
func (p *plain) holdsNumber(raw []byte) bool {
	if bytes.ContainsAny(raw, "eE") || p.whole && bytes.IndexByte(raw, '.') >= 0 {
		return false
	}
	if p.value.isNone() {
		return true
	}
	n, ok := exact(raw)
	return ok && p.value.holds(n)
}

func (p *plain) holdsMembers(t *jsonraw.Tape, i int) bool {
	for at, end := i+1, t.Next(i); at < end; at = t.Next(at + 1) {
		name := t.Raw(at)
		if t.Node(at).Escaped {
			return false
		}
		of, known := p.members[string(name[1:len(name)-1])]
		if !known {
			of = p.additional
		}
		if of != nil && !of.holds(t, at+1) {
			return false
		}
	}
	for _, name := range p.required {
		if t.Member(i, name) == 0 {
			return false
		}
	}
	return true
}
