package question

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Content is the content of an accepted form: the values, in the order of the
// fields, with the default of each field that has none of its own. A value of
// length 0 leaves its field out, default or not.
func (f Form) Content(values map[string]json.RawMessage) json.RawMessage {
	content := json.RawMessage("{}")
	for _, field := range f.Fields {
		value, given := values[field.Name]
		if !given {
			value = field.Default
		}
		if len(value) > 0 {
			content = jsonraw.With(content, field.Name, value)
		}
	}
	return content
}

// Missing are the required fields for which the content has no value.
func (f Form) Missing(content json.RawMessage) (names []string) {
	members, _ := jsonraw.Object(content)
	for _, field := range f.Fields {
		if _, there := members.Get(field.Name); field.Required && !there {
			names = append(names, field.Name)
		}
	}
	return names
}

// Check finds what a schema does not: members that are no field of the form, and
// texts that miss the format of theirs.
func (f Form) Check(content json.RawMessage) (findings []wire.Finding) {
	members, _ := jsonraw.Object(content)
	for _, m := range members {
		field, known := f.Field(m.Name)
		text, isText := jsonraw.Text(m.Value)
		switch {
		case !known:
			findings = append(findings, wire.Finding{Rule: "unknown_field", Level: wire.Error, Where: "/" + m.Name, Text: "is not a field of the form"})
		case field.Kind == Text && isText:
			if err := checkFormat(field.Format, text); err != nil {
				findings = append(findings, wire.Finding{Rule: "format", Level: wire.Error, Where: "/" + m.Name, Text: err.Error()})
			}
		}
	}
	return findings
}

// Accept is an ElicitResult with the content; nil leaves it out, as for a page.
func Accept(content json.RawMessage) json.RawMessage {
	result := json.RawMessage(`{"action":"accept"}`)
	if content != nil {
		result = jsonraw.With(result, "content", content)
	}
	return result
}

// Decline is the answer of a person who refuses.
func Decline() json.RawMessage { return json.RawMessage(`{"action":"decline"}`) }

// Cancel is that of a person who made no choice.
func Cancel() json.RawMessage { return json.RawMessage(`{"action":"cancel"}`) }
