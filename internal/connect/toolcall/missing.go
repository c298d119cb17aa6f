package toolcall

import (
	"bytes"
	"context"
	"encoding/json"

	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/schema"
	"mcpc/internal/wire"
)

// TextOf returns the text of a JSON string, or "" if value is not a string.
func TextOf(value json.RawMessage) string {
	text, _ := jsonraw.Text(value)
	return text
}

// askForMissing asks the user at the terminal for required arguments that are missing, adds them to
// o.Given, and checks the arguments again. out is the outcome without them: it returns out if nothing
// is missing, if a form cannot ask for it, or if the user enters nothing.
func askForMissing(
	ctx context.Context,
	c *connect.Conn,
	tool *connect.Definition,
	o *Request,
	out wire.Outcome,
) wire.Outcome {
	hasBadWords := len(o.Findings) > 0 // which a form does not mend
	if out.Kind != wire.InvalidArguments || hasBadWords || !c.Env.UI.CanAsk() {
		return out
	}
	form, ok := missingForm(tool.InputSchema, o.Arguments)
	if !ok {
		return out
	}
	checker := &elicit.Answerer{A: c.Env, C: c}
	values := c.Env.UI.FillArguments(ctx, o.Name, form, checker.Broken)
	if ctx.Err() != nil { // Ctrl-C is not the same as an empty form
		return wire.Outcome{Kind: wire.Signal, Text: "interrupted"}
	}
	if values == nil {
		return out
	}
	for _, field := range form.Fields {
		if value := values[field.Name]; value != nil {
			o.Given.Words = append(o.Given.Words, arguments.Word{
				Typed: arguments.EscapedName(field.Name) + ":=" + string(value),
				Path:  []arguments.Part{{Name: field.Name}},
				Raw:   value,
			})
		}
	}
	return CheckArguments(c, tool, o)
}

// missingForm returns a form of the required properties without a value. It returns false without
// such properties, or if a field of a form cannot express one.
func missingForm(input, arguments json.RawMessage) (question.Form, bool) {
	given, _ := jsonraw.Object(arguments)
	properties := json.RawMessage("{}")
	var required []json.RawMessage
	for _, p := range schema.New(input).Schema().Properties() {
		if _, isGiven := given.Get(p.Name); p.Required && !isGiven {
			properties = jsonraw.With(properties, p.Name, p.Schema.Raw)
			required = append(required, jsonraw.Quote(p.Name))
		}
	}
	requested := jsonraw.With(jsonraw.With(nil, "properties", properties), "required", jsonraw.List(required))
	form, err := question.ParseForm(jsonraw.With(nil, "requestedSchema", requested))
	if err != nil {
		return form, false
	}
	for _, field := range form.Fields {
		kind, _ := jsonraw.Text(jsonraw.First(field.Schema, "type"))
		hasReference := bytes.Contains(field.Schema, []byte(`"$ref"`)) // into the tool's schema, not the form's
		isTypedAsJSON := kind == "array" || kind == "object"
		isInexpressible := field.Kind == question.Other && !isTypedAsJSON
		if hasReference || isInexpressible {
			return form, false
		}
	}
	return form, len(form.Fields) > 0
}
