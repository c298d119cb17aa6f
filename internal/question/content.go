package question

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// Content returns the content of an accepted form: the values in the order of the fields, and the
// defaults of fields that values does not have. It omits a field whose value has length 0.
func (f Form) Content(values map[string]json.RawMessage) json.RawMessage {
	content := json.RawMessage("{}")
	for _, field := range f.Fields {
		value, isGiven := values[field.Name]
		if !isGiven {
			value = field.Default
		}
		if len(value) > 0 {
			content = jsonraw.With(content, field.Name, value)
		}
	}
	return content
}

// Missing returns the required fields that content does not have.
func (f Form) Missing(content json.RawMessage) []string {
	members, _ := jsonraw.Object(content)
	var names []string
	for _, field := range f.Fields {
		if _, found := members.Get(field.Name); field.Required && !found {
			names = append(names, field.Name)
		}
	}
	return names
}

// Check finds errors that the schema does not: members that are not a field of the form, and texts
// in another format than their field's.
func (f Form) Check(content json.RawMessage) []wire.Finding {
	var findings []wire.Finding
	add := func(rule, name, text string) {
		findings = append(findings, wire.Finding{Rule: rule, Severity: wire.Error, Pointer: "/" + name, Text: text})
	}
	members, _ := jsonraw.Object(content)
	for _, m := range members {
		field, isField := f.Field(m.Name)
		if !isField {
			add("unknown_field", m.Name, "is not a field of the form")
			continue
		}
		text, isText := jsonraw.Text(m.Value)
		if field.Kind != Text || !isText {
			continue
		}
		if err := checkFormat(field.Format, text); err != nil {
			add("format", m.Name, err.Error())
		}
	}
	return findings
}

// Accept returns an ElicitResult with content, or without if content is nil, as for a page.
func Accept(content json.RawMessage) json.RawMessage {
	result := json.RawMessage(`{"action":"accept"}`)
	if content != nil {
		result = jsonraw.With(result, "content", content)
	}
	return result
}

// Decline returns the ElicitResult of a user who refused.
func Decline() json.RawMessage { return json.RawMessage(`{"action":"decline"}`) }

// Cancel returns the ElicitResult of a user who did not decide.
func Cancel() json.RawMessage { return json.RawMessage(`{"action":"cancel"}`) }
