package saved

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// Literal is a JSON value as it stands in a file so that the same value is read
// again: what begins like a reference is none. Where a secret was hidden (wire.Redacted)
// stands a reference to a variable of the environment, which name gives.
func Literal(raw json.RawMessage, name func(hidden string) string) json.RawMessage {
	if members, err := wire.Object(raw); err == nil {
		object := json.RawMessage("{}")
		for _, m := range members {
			object = wire.With(object, m.Name, Literal(m.Value, name))
		}
		return object
	}
	if items, err := wire.Array(raw); err == nil {
		return wire.ListOf(items, func(item json.RawMessage) json.RawMessage { return Literal(item, name) })
	}
	if text, ok := wire.Text(raw); ok {
		return wire.Quote(LiteralText(text, name))
	}
	return raw
}

// LiteralText is Literal for a text.
func LiteralText(text string, name func(hidden string) string) string {
	var b strings.Builder
	at := 0
	plain := func(part string) { b.WriteString(strings.ReplaceAll(part, "${", "$${")) }
	for _, place := range wire.HiddenIn(text) {
		plain(text[at:place[0]])
		b.WriteString("${" + Environment + name(text[place[0]:place[1]]) + "}")
		at = place[1]
	}
	plain(text[at:])
	return b.String()
}

// JSON is the file as it is read again; Args and the texts beside it are literal
// already.
func (f File) JSON() json.RawMessage {
	doc := json.RawMessage("{}")
	some := func(object *json.RawMessage, name, text string) {
		if text != "" {
			*object = wire.With(*object, name, wire.Quote(text))
		}
	}
	some(&doc, "name", f.Name)
	some(&doc, "server", f.Server)
	if f.Command != nil {
		doc = wire.With(doc, "command", wire.ListOf(f.Command, wire.Quote))
	}
	some(&doc, "protocol", f.Protocol)
	if len(f.Headers) > 0 {
		headers := json.RawMessage("{}")
		for _, h := range f.Headers {
			headers = wire.With(headers, h.Name, wire.Quote(h.Value))
		}
		doc = wire.With(doc, "headers", headers)
	}
	for _, m := range f.Answers() {
		doc = wire.With(doc, m.Name, m.Value)
	}
	return wire.With(doc, "steps", wire.ListOf(f.Steps, Step.JSON))
}

// Answers are the members of the file that say how to answer what a server asks.
func (f File) Answers() (all wire.Members) {
	add := func(name string, value json.RawMessage, set bool) {
		if set {
			all = append(all, wire.Member{Name: name, Value: value})
		}
	}
	a := f.Answering
	add("answer", f.Answer, f.Answer != nil)
	add("answer-defaults", json.RawMessage("true"), a.Defaults)
	add("decline", json.RawMessage("true"), a.Decline)
	add("on-elicit", wire.Quote(a.OnElicit), a.OnElicit != "")
	add("sampling", wire.Quote(a.Sampling), a.Sampling != "")
	add("on-sampling", wire.Quote(a.OnSampling), a.OnSampling != "")
	add("roots", wire.ListOf(a.Roots, wire.Quote), a.Roots != nil)
	return all
}

// Same reports whether two files answer what a server asks in the same way.
func (f File) Same(other File) bool {
	own, theirs := f.Answers(), other.Answers()
	return slices.EqualFunc(own, theirs, func(a, b wire.Member) bool {
		return a.Name == b.Name && bytes.Equal(wire.Compact(a.Value), wire.Compact(b.Value))
	})
}

// JSON is the step as it is read again.
func (s Step) JSON() json.RawMessage {
	step := wire.With(nil, string(s.Verb), wire.Quote(s.Subject))
	if s.Args != nil {
		key := "args"
		if s.Verb == Raw {
			key = "params"
		}
		step = wire.With(step, key, s.Args)
	}
	if s.Loose {
		step = wire.With(step, "validate", json.RawMessage("false"))
	}
	var expect json.RawMessage
	if s.Expect.Kind != wire.OK {
		expect = wire.With(nil, "kind", wire.Quote(string(s.Expect.Kind)))
	}
	if s.Expect.Result != nil {
		expect = wire.With(expect, "result", s.Expect.Result)
	}
	if expect != nil {
		step = wire.With(step, "expect", expect)
	}
	return step
}
