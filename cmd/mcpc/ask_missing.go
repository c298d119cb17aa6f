package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// completed asks the person at the terminal for the arguments that a tool
// requires and that were not given; out is the ending without them. What a form
// cannot express, and a person who stops, leave it at that.
func (c *conversation) completed(ctx context.Context, tool *definition, o *callRequest, out wire.Outcome) wire.Outcome {
	if out.Kind != wire.InvalidArguments || len(o.findings) > 0 || !c.a.ui.canAsk() {
		return out
	}
	form, ok := missing(tool.InputSchema, o.arguments)
	if !ok {
		return out
	}
	r := &responder{a: c.a, c: c}
	values := c.a.ui.fillArguments(ctx, o.name, form, r.broken)
	switch {
	case ctx.Err() != nil:
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	case values == nil:
		return out
	}
	for _, field := range form.Fields {
		if value := values[field.Name]; value != nil {
			o.given.words = append(o.given.words, word{typed: escapedName(field.Name) + ":=" + string(value), path: []part{{name: field.Name}}, raw: value})
		}
	}
	return c.checkArguments(tool, o)
}

// fillArguments asks for arguments of a tool, nil where the user gives up.
func (a *app) fillArguments(ctx context.Context, tool string, form question.Form, check formCheck) map[string]json.RawMessage {
	f := formDialog{dialog: a.dialog(ctx), form: form, asker: tool, broken: check, own: true}
	f.say("%s needs more arguments. Ctrl-D cancels; nothing is sent.", f.line(tool))
	values := map[string]json.RawMessage{}
	if f.fields(values) != nil {
		return nil
	}
	f.say("")
	return values
}

// missing makes a form of the required properties that have no value; false where
// there are none, or where one of them is more than a field of a form.
func missing(schema, arguments json.RawMessage) (question.Form, bool) {
	given, _ := wire.Object(arguments)
	properties, _ := wire.Object(wire.First(schema, "properties"))
	items, _ := wire.Array(wire.First(schema, "required"))
	names := mapped(items, textOf)
	wanted := json.RawMessage("{}")
	for _, p := range properties {
		if _, there := given.Get(p.Name); !there && slices.Contains(names, p.Name) {
			wanted = wire.With(wanted, p.Name, p.Value)
		}
	}
	form, err := question.ParseForm(wire.With(nil, "requestedSchema",
		wire.With(wire.With(nil, "properties", wanted), "required", wire.First(schema, "required"))))
	for _, field := range form.Fields {
		kind, _ := wire.Text(wire.First(field.Schema, "type"))
		if bytes.Contains(field.Schema, []byte(`"$ref"`)) || field.Kind == question.Other && kind != "array" && kind != "object" {
			return form, false
		}
	}
	return form, err == nil && len(form.Fields) > 0
}
