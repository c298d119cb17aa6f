package saved

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// Literal returns a JSON value as it has to be written in a file: a text like a reference is
// escaped, and a redacted secret (redact.Redacted) becomes a reference to the environment variable
// that name returns.
func Literal(raw json.RawMessage, name func(hidden string) string) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		object := json.RawMessage("{}")
		for _, m := range members {
			object = jsonraw.With(object, m.Name, Literal(m.Value, name))
		}
		return object
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return Literal(item, name) })
	}
	if text, ok := jsonraw.Text(raw); ok {
		return jsonraw.Quote(LiteralText(text, name))
	}
	return raw
}

// LiteralText returns a text as Literal writes it.
func LiteralText(text string, name func(hidden string) string) string {
	var b strings.Builder
	writeEscaped := func(part string) { b.WriteString(strings.ReplaceAll(part, "${", "$${")) }
	written := 0 // the bytes of text that are in b
	for _, place := range redact.HiddenIn(text) {
		begin := place[0]
		end := place[1]
		writeEscaped(text[written:begin])
		b.WriteString("${" + Environment + name(text[begin:end]) + "}")
		written = end
	}
	writeEscaped(text[written:])
	return b.String()
}

// JSON returns the file in the form that ReadFile parses. It writes texts and Args unchanged: the
// caller has escaped them with Literal.
func (f File) JSON() json.RawMessage {
	doc := json.RawMessage("{}")
	addText := func(name, text string) {
		if text != "" {
			doc = jsonraw.With(doc, name, jsonraw.Quote(text))
		}
	}
	addText("name", f.Name)
	addText("server", f.Server)
	if f.Command != nil {
		doc = jsonraw.With(doc, "command", jsonraw.ListOf(f.Command, jsonraw.Quote))
	}
	addText("protocol", f.Protocol)
	if len(f.Headers) > 0 {
		headers := json.RawMessage("{}")
		for _, h := range f.Headers {
			headers = jsonraw.With(headers, h.Name, jsonraw.Quote(h.Value))
		}
		doc = jsonraw.With(doc, "headers", headers)
	}
	for _, m := range f.Answers() {
		doc = jsonraw.With(doc, m.Name, m.Value)
	}
	return jsonraw.With(doc, "steps", jsonraw.ListOf(f.Steps, Step.JSON))
}

// Answers returns the members of the file that say how to answer the server's requests.
func (f File) Answers() jsonraw.Members {
	var all jsonraw.Members
	add := func(name string, value json.RawMessage, isSet bool) {
		if isSet {
			all = append(all, jsonraw.Member{Name: name, Value: value})
		}
	}
	a := f.Answering
	add("answer", f.Answer, f.Answer != nil)
	add("answer-defaults", json.RawMessage("true"), a.Defaults)
	add("decline", json.RawMessage("true"), a.Decline)
	add("on-elicit", jsonraw.Quote(a.OnElicit), a.OnElicit != "")
	add("sampling", jsonraw.Quote(a.Sampling), a.Sampling != "")
	add("on-sampling", jsonraw.Quote(a.OnSampling), a.OnSampling != "")
	add("roots", jsonraw.ListOf(a.Roots, jsonraw.Quote), a.Roots != nil)
	add("extensions", jsonraw.ListOf(a.Extensions, jsonraw.Quote), a.Extensions != nil)
	return all
}

// Same reports whether two files answer the server's requests in the same way.
func (f File) Same(other File) bool {
	own := f.Answers()
	theirs := other.Answers()
	return slices.EqualFunc(own, theirs, func(a, b jsonraw.Member) bool {
		return a.Name == b.Name && bytes.Equal(jsonraw.Compact(a.Value), jsonraw.Compact(b.Value))
	})
}

// JSON returns the step as ReadFile parses it.
func (s Step) JSON() json.RawMessage {
	step := jsonraw.With(nil, string(s.Verb), jsonraw.Quote(s.Subject))
	if s.Args != nil {
		key := "args"
		if s.Verb == Raw {
			key = "params"
		}
		step = jsonraw.With(step, key, s.Args)
	}
	if s.Loose {
		step = jsonraw.With(step, "validate", json.RawMessage("false"))
	}
	var expect json.RawMessage
	if s.Expect.Kind != wire.OK {
		expect = jsonraw.With(nil, "kind", jsonraw.Quote(string(s.Expect.Kind)))
	}
	if s.Expect.Result != nil {
		expect = jsonraw.With(expect, "result", s.Expect.Result)
	}
	if len(s.Expect.Queries) > 0 {
		expect = jsonraw.With(expect, "jq", jsonraw.ListOf(s.Expect.Queries, func(w Wanted) json.RawMessage {
			return jsonraw.Quote(w.Text)
		}))
	}
	if expect != nil {
		step = jsonraw.With(step, "expect", expect)
	}
	return step
}
