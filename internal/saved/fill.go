package saved

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
)

// Environment precedes the name of an environment variable in a reference. A reference is ${name} or
// ${env.NAME}; $${ is the text ${.
const Environment = "env."

// EachReference calls visit for each reference in a JSON value, with the JSON pointer of its text
// and its name. pointer is the JSON pointer of the value.
func EachReference(raw json.RawMessage, pointer string, visit func(pointer, name string)) {
	eachText("", raw, pointer, func(_, pointer, text string) {
		_ = eachPart(text, func(string) {}, func(name string) { visit(pointer, name) })
	})
}

// References returns the references in all texts of a JSON value, as written, each once.
func References(raw json.RawMessage) []string {
	var all []string
	EachReference(raw, "", func(_, name string) {
		if ref := "${" + name + "}"; !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	})
	return all
}

// Uses returns the names of the variables that a step needs, each once.
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

// checkReferences reports malformed references in a value.
func (r *reader) checkReferences(raw json.RawMessage, pointer string) {
	eachText("", raw, pointer, func(_, pointer, text string) {
		err := eachPart(text, func(string) {}, func(name string) {
			if variable := strings.TrimPrefix(name, Environment); !IsName(variable) {
				const text = "${%s} is not a variable name: use letters, digits and _, and env. for environment variables"
				r.addProblem(pointer, text, name)
			}
		})
		if err != nil {
			r.addProblem(pointer, "%s", err.Error())
		}
	})
}

// eachText calls visit for each text in the value of a member, with the name of the member that
// contains the text and its JSON pointer.
func eachText(member string, raw json.RawMessage, pointer string, visit func(member, pointer, text string)) {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			eachText(m.Name, m.Value, jsonraw.Pointer(pointer, m.Name), visit)
		}
		return
	}
	if items, err := jsonraw.Array(raw); err == nil {
		for i, item := range items {
			eachText(member, item, pointer+"/"+strconv.Itoa(i), visit)
		}
		return
	}
	if text, ok := jsonraw.Text(raw); ok {
		visit(member, pointer, text)
	}
}

// eachPart calls onText for each literal part of text, and onReference for the name in each ${NAME}.
// It returns an error for a reference that is not closed.
func eachPart(text string, onText, onReference func(string)) error {
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			onText(text)
			return nil
		}
		if start > 0 && text[start-1] == '$' { // $${ is an escaped ${
			onText(text[:start-1] + "${")
			text = text[start+2:]
			continue
		}
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			return fmt.Errorf("${ is not closed; $${ is the text ${")
		}
		onText(text[:start])
		onReference(text[start+2 : start+end])
		text = text[start+end+1:]
	}
}

// IsName reports whether a variable, also of jq, may have this name.
func IsName(text string) bool {
	for i, c := range []byte(text) {
		isLetter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		isDigit := c >= '0' && c <= '9'
		if !isLetter && (i == 0 || !isDigit) {
			return false
		}
	}
	return text != ""
}

// A Value is the value of a variable. Untyped is set for a text from outside of the file, whose JSON
// type is unknown.
type Value struct {
	JSON    json.RawMessage
	Untyped bool
}

// Text returns the value as part of a text.
func (v Value) Text() string {
	if text, ok := jsonraw.Text(v.JSON); ok {
		return text
	}
	return string(jsonraw.Compact(v.JSON))
}

// A Lookup returns the value of a variable by its name in a reference.
type Lookup func(name string) (Value, error)

// FillText replaces the references in a text by values. It returns the first error of lookup, or the
// error of a reference that is not closed.
func FillText(text string, lookup Lookup) (string, error) {
	var b strings.Builder
	var lookupErr error
	err := eachPart(text, func(part string) { b.WriteString(part) }, func(name string) {
		v, err := lookup(name)
		if lookupErr == nil {
			lookupErr = err
		}
		b.WriteString(v.Text())
	})
	if lookupErr != nil {
		return b.String(), lookupErr
	}
	return b.String(), err
}

// An Untyped is an argument that is a text from outside of the file: the path of names to it, and
// the text. The caller knows the tool's inputSchema and converts the text.
type Untyped struct {
	Path []string
	Text string
}

// Fill replaces the references in a JSON value by values. A text that is only a reference becomes
// the value with its type. Members with an untyped value are omitted and returned separately; in
// lists such values are texts.
func Fill(raw json.RawMessage, lookup Lookup) (json.RawMessage, []Untyped, error) {
	f := filler{lookup: lookup}
	filled := f.fillValue(raw, []string{}, false)
	return filled, f.untyped, f.err
}

// A filler replaces references in one value.
type filler struct {
	lookup  Lookup
	untyped []Untyped
	err     error
}

// fillValue returns a value with its references replaced. path has the names of the members that lead
// to the value. It is not used if inList is set: no path of names leads to an item of a list.
func (f *filler) fillValue(raw json.RawMessage, path []string, inList bool) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		return f.fillObject(members, path, inList)
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return f.fillValue(item, nil, true) })
	}
	text, ok := jsonraw.Text(raw)
	if !ok {
		return raw
	}
	if v, ok := f.resolveReference(text); ok {
		return v.JSON
	}
	filled, err := FillText(text, f.lookup)
	f.keepError(err)
	return jsonraw.Quote(filled)
}

// fillObject returns an object with its references replaced, without members that have untyped
// values.
func (f *filler) fillObject(members jsonraw.Members, path []string, inList bool) json.RawMessage {
	var filled []jsonraw.Member
	for _, m := range members {
		path := append(path[:len(path):len(path)], m.Name)
		text, _ := jsonraw.Text(m.Value) // "", which is no reference, for other values
		if v, ok := f.resolveReference(text); ok && v.Untyped && !inList {
			f.untyped = append(f.untyped, Untyped{path, v.Text()})
			continue
		}
		filled = append(filled, jsonraw.Member{Name: m.Name, Value: f.fillValue(m.Value, path, inList)})
	}
	return jsonraw.Append(json.RawMessage("{}"), filled...)
}

// resolveReference returns the value of a text that is only a reference. Otherwise it reports
// false.
func (f *filler) resolveReference(text string) (v Value, ok bool) {
	name, ok := strings.CutPrefix(text, "${")
	name, isClosed := strings.CutSuffix(name, "}")
	if !ok || !isClosed || strings.ContainsAny(name, "${}") {
		return v, false
	}
	v, err := f.lookup(name)
	f.keepError(err)
	if v.JSON == nil {
		v.JSON = json.RawMessage("null")
	}
	return v, true
}

// keepError keeps the first error.
func (f *filler) keepError(err error) {
	if f.err == nil {
		f.err = err
	}
}
