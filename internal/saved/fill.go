package saved

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// A reference is ${name} or ${env.NAME}; $${ is the text ${.

// Environment is what stands before the name of a variable of the environment.
const Environment = "env."

// EachReference gives the names in the references of a value, with the pointer of the
// text in which each stands; at is that of the value.
func EachReference(raw json.RawMessage, at string, look func(at, name string)) {
	eachText("", raw, at, func(_, at, text string) {
		_ = eachPart(text, func(string) {}, func(name string) { look(at, name) })
	})
}

// References are those in all texts of a JSON value, as they are written, each once.
func References(raw json.RawMessage) (all []string) {
	EachReference(raw, "", func(_, name string) {
		if ref := "${" + name + "}"; !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	})
	return all
}

// Uses are the names of the variables that a step needs before it can be taken, each
// once.
func (s Step) Uses() []string {
	texts := []json.RawMessage{jsonraw.Quote(s.Subject), s.Args, s.Expect.Result}
	for _, w := range s.Expect.Texts {
		texts = append(texts, jsonraw.Quote(w.Text))
	}
	var all []string
	for _, raw := range texts {
		EachReference(raw, "", func(_, name string) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		})
	}
	return all
}

// references checks that those in a value are well formed.
func (r *reader) references(raw json.RawMessage, at string) {
	eachText("", raw, at, func(_, at, text string) {
		err := eachPart(text, func(string) {}, func(name string) {
			if variable := strings.TrimPrefix(name, Environment); !IsName(variable) {
				r.bad(at, "${%s} is not a variable name: letters, digits and _, with env. for environment variables", name)
			}
		})
		if err != nil {
			r.bad(at, "%s", err.Error())
		}
	})
}

// eachText gives the texts in a value of a member, with the name of the member that holds
// each and its pointer.
func eachText(member string, raw json.RawMessage, at string, look func(member, at, text string)) {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			eachText(m.Name, m.Value, jsonraw.Pointer(at, m.Name), look)
		}
		return
	}
	if items, err := jsonraw.Array(raw); err == nil {
		for i, item := range items {
			eachText(member, item, at+"/"+strconv.Itoa(i), look)
		}
		return
	}
	if text, ok := jsonraw.Text(raw); ok {
		look(member, at, text)
	}
}

// eachPart calls plain for each literal part of text and ref for the name in each ${NAME}.
// Its error says that a reference is not closed.
func eachPart(text string, plain, ref func(string)) error {
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			plain(text)
			return nil
		}
		if at > 0 && text[at-1] == '$' {
			plain(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			return fmt.Errorf("${ is not closed; $${ is the text ${")
		}
		plain(text[:at])
		ref(text[at+2 : at+end])
		text = text[at+end+1:]
	}
}

// IsName reports whether a variable may be called so, for jq as well.
func IsName(text string) bool {
	for i, c := range []byte(text) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

// A Value is the value of a variable. One that came as a text from outside is Untyped:
// it has no type of its own.
type Value struct {
	JSON    json.RawMessage
	Untyped bool
}

// Text returns the value as it is written inside of a text.
func (v Value) Text() string {
	if text, ok := jsonraw.Text(v.JSON); ok {
		return text
	}
	return string(jsonraw.Compact(v.JSON))
}

// Lookup gives the value of a variable, named as in a reference.
type Lookup func(name string) (Value, error)

// FillText puts values in the place of the references in a text.
func FillText(text string, look Lookup) (string, error) {
	var b strings.Builder
	var failed error
	err := eachPart(text, func(part string) { b.WriteString(part) }, func(name string) {
		v, err := look(name)
		if err != nil && failed == nil {
			failed = err
		}
		b.WriteString(v.Text())
	})
	if failed != nil {
		err = failed
	}
	return b.String(), err
}

// An Untyped is an argument that is a text from outside: the names that lead to it, and
// the text. The caller, which knows the tool's inputSchema, gives it a type.
type Untyped struct {
	Path []string
	Text string
}

// Fill puts values in the place of the references in a JSON value. A text that is
// one reference becomes the value itself, with its type. Members whose value has no
// type are left out and given back beside; in lists they are texts.
func Fill(raw json.RawMessage, look Lookup) (json.RawMessage, []Untyped, error) {
	f := filler{look: look}
	filled := f.value(raw, []string{}, false)
	return filled, f.untyped, f.err
}

type filler struct {
	look    Lookup
	untyped []Untyped
	err     error
}

func (f *filler) value(raw json.RawMessage, path []string, inList bool) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		return f.object(members, path, inList)
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return f.value(item, nil, true) })
	}
	text, ok := jsonraw.Text(raw)
	if !ok {
		return raw
	}
	if v, whole := f.whole(text); whole {
		return v.JSON
	}
	filled, err := FillText(text, f.look)
	f.fails(err)
	return jsonraw.Quote(filled)
}

func (f *filler) object(members jsonraw.Members, path []string, inList bool) json.RawMessage {
	var filled []jsonraw.Member
	for _, m := range members {
		path := append(path[:len(path):len(path)], m.Name)
		text, ok := jsonraw.Text(m.Value)
		if v, whole := f.whole(text); ok && whole && v.Untyped && !inList {
			f.untyped = append(f.untyped, Untyped{path, v.Text()})
			continue
		}
		filled = append(filled, jsonraw.Member{Name: m.Name, Value: f.value(m.Value, path, inList)})
	}
	return jsonraw.Append(json.RawMessage("{}"), filled...)
}

// whole gives the value where a text is one reference and nothing else.
func (f *filler) whole(text string) (v Value, whole bool) {
	name, ok := strings.CutPrefix(text, "${")
	if !ok || !strings.HasSuffix(name, "}") || strings.ContainsAny(name[:len(name)-1], "${}") {
		return v, false
	}
	v, err := f.look(strings.TrimSuffix(name, "}"))
	f.fails(err)
	if v.JSON == nil {
		v.JSON = json.RawMessage("null")
	}
	return v, true
}

func (f *filler) fails(err error) {
	if f.err == nil {
		f.err = err
	}
}
