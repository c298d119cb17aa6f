package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
)

// tapes are used again: a list has many schemas.
var tapes = sync.Pool{New: func() any { return new(jsonraw.Tape) }}

// longestPlain bounds a schema that is read in one pass, and mostPlain its properties, whose
// names are compared with each other.
const (
	longestPlain = 64 << 10
	mostPlain    = 40
)

// plainParameters are the parameters of a schema like most: without references, without allOf,
// and with a type for each property. It reads it in one pass; ok is false for any other.
func plainParameters(st term.Style, raw json.RawMessage, choices int) (all []Parameter, ok bool) {
	t := tapes.Get().(*jsonraw.Tape)
	defer tapes.Put(t)
	if len(raw) > longestPlain || !t.Read(raw) {
		return nil, false
	}
	p := plain{st, choices, t}
	properties := t.Member(0, "properties")
	if !p.isPlain(0) || properties > 0 && t.Kind(properties) != '{' {
		return nil, false
	}
	required, ok := p.required(t.Member(0, "required"), properties)
	if properties == 0 {
		return nil, ok
	}
	all = make([]Parameter, 0, 4)
	var names [mostPlain]string
	n := 0
	for at, end := properties+1, t.Next(properties); at < end && ok; at = t.Next(at + 1) {
		if t.Node(at).Escaped || n == mostPlain {
			return nil, false
		}
		name, _ := jsonraw.Text(t.Raw(at))
		if slices.Contains(names[:n], name) {
			return nil, false
		}
		names[n] = name
		kind, plain := p.kind(at+1, 0)
		var value json.RawMessage
		if plain {
			if i := t.Member(at+1, "default"); i > 0 {
				value = t.Raw(i)
			}
			all = append(all, parameterOf(st, name, required&(1<<n) != 0, kind, value))
		}
		n++
		ok = plain
	}
	return all, ok
}

// A plain reads schemas of a tape.
type plain struct {
	st      term.Style
	choices int
	tape    *jsonraw.Tape
}

// isPlain reports an object whose members are all that its schema says.
func (p plain) isPlain(i int) bool {
	t := p.tape
	return t.Kind(i) == '{' && t.Member(i, "$ref") == 0 && t.Member(i, "$dynamicRef") == 0 && t.Member(i, "allOf") == 0
}

// required returns which properties are in a list of names: a bit for each. ok is false where
// the list names another, which would be a property, too.
func (p plain) required(list, properties int) (found uint64, ok bool) {
	t := p.tape
	if list == 0 || t.Kind(list) != '[' {
		return 0, true
	}
	for at, end := list+1, t.Next(list); at < end; at = t.Next(at) {
		if t.Kind(at) != '"' {
			continue
		}
		if t.Node(at).Escaped || properties == 0 {
			return 0, false
		}
		n, there := 0, false
		for name, end := properties+1, t.Next(properties); name < end && n < mostPlain; name = t.Next(name + 1) {
			if there = slices.Equal(t.Raw(name), t.Raw(at)); there {
				found |= 1 << n
				break
			}
			n++
		}
		if !there {
			return 0, false
		}
	}
	return found, true
}

// kind is typeText of the schema at i.
func (p plain) kind(i, depth int) (text string, ok bool) {
	t := p.tape
	if depth > maxTypeDepth {
		return "any", true
	}
	if !p.isPlain(i) || t.Member(i, "const") > 0 {
		return "", false
	}
	if list := t.Member(i, "enum"); list > 0 && t.Kind(list) == '[' && t.Next(list) > list+1 {
		var values []json.RawMessage
		for at, end := list+1, t.Next(list); at < end; at = t.Next(at) {
			values = append(values, t.Raw(at))
		}
		return choice(p.st, values, p.choices), true
	}
	kind := t.Member(i, "type")
	if kind == 0 {
		return "", false
	}
	if t.Kind(kind) != '[' {
		return p.named(kind, i, depth)
	}
	var texts []string
	for at, end := kind+1, t.Next(kind); at < end; at = t.Next(at) {
		one, ok := p.named(at, i, depth)
		if !ok {
			return "", false
		}
		texts = append(texts, one)
	}
	return strings.Join(texts, "|"), texts != nil
}

// named is a type by its name at the node, of the schema at i.
func (p plain) named(node, i, depth int) (text string, ok bool) {
	t := p.tape
	name, ok := jsonraw.Text(t.Raw(node))
	if !ok {
		return "", false
	}
	if name != "array" {
		return p.st.Line(name), true
	}
	items := t.Member(i, "items")
	if items == 0 || t.Kind(items) == '[' {
		return "array", true
	}
	item, ok := p.kind(items, depth+1)
	return arrayOf(item), ok
}
