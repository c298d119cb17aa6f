package tui

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/validate"
)

// Content returns the values of the fields. It reports false if a value is missing or invalid, marks these
// fields and selects the first of them. A text that is not of its field's type is returned as a text.
func (f *form) Content() (content json.RawMessage, ok bool) {
	content, ok = f.root.value()
	if content == nil {
		content = json.RawMessage("{}")
	}
	// The schema may have more rules than a form knows. A schema that does not compile adds no rules.
	schema, _, err := validate.Compile(f.schema)
	if err == nil {
		findings, _ := schema.Check(content)
		for _, finding := range findings {
			isMarked := !ok && finding.Rule == "required" // at the field that is missing
			if !isMarked {
				f.markError(finding.Pointer, finding.Text)
			}
		}
		ok = ok && len(findings) == 0
	}
	if !ok {
		f.focused = max(0, slices.IndexFunc(f.fields(), func(q *field) bool { return q.err != "" }))
	}
	return content, ok
}

// pointer returns the JSON pointer of a field's value.
func (q *field) pointer() string {
	switch {
	case q.parent == nil:
		return ""
	case q.parent.shape == choiceShape || q.isOthers:
		return q.parent.pointer()
	case q.parent.shape == listShape:
		return q.parent.pointer() + "/" + strconv.Itoa(slices.Index(q.parent.children, q))
	}
	return jsonraw.Pointer(q.parent.pointer(), q.Name)
}

// markError marks the field of an error: the field at the pointer or the nearest field above it, else the
// first one.
func (f *form) markError(pointer, text string) {
	all := f.fields()
	if len(all) == 0 {
		return
	}
	index := 0
	length := -1
	for i, q := range all {
		own := q.pointer()
		if len(own) > length && (pointer == own || strings.HasPrefix(pointer, own+"/")) {
			index = i
			length = len(own)
		}
	}
	if all[index].err == "" {
		all[index].err = text
	}
}

// givenValues returns the values of the fields that have a valid one, and marks no field.
func (f *form) givenValues() json.RawMessage {
	values := json.RawMessage("{}")
	for _, q := range f.root.children {
		if value, err := q.jsonValue(); err == nil && value != nil && q.shape == singleShape {
			values = jsonraw.With(values, q.Name, value)
		}
	}
	return values
}

// Values returns the values of the fields, valid or not. It keeps the focus.
func (f *form) Values() json.RawMessage {
	values, _ := f.root.value()
	if values == nil {
		return json.RawMessage("{}")
	}
	return values
}

// value returns the JSON value of a field with the fields below it, or nil if it is empty. It reports
// false if a value is missing or invalid, and marks these fields. An invalid text is returned as a text.
func (q *field) value() (value json.RawMessage, ok bool) {
	q.err = ""
	ok = true
	switch q.shape {
	case objectShape:
		if !q.isGiven {
			return nil, true
		}
		value = json.RawMessage("{}")
		for _, child := range q.children {
			member, isValid := child.value()
			if child.isOthers {
				members, err := jsonraw.Object(member)
				if member != nil && err != nil {
					child.err = "is not a JSON object"
					isValid = false
				}
				value = jsonraw.Append(value, members...)
			} else if member != nil {
				value = jsonraw.With(value, child.Name, member)
			} else if child.Required && child.err == "" {
				child.err = "is required"
				isValid = false
			}
			ok = ok && isValid
		}
		return value, ok
	case listShape:
		items := []json.RawMessage{}
		for _, child := range q.children {
			item, isValid := child.value()
			if item == nil && child.Kind == question.Text {
				item = json.RawMessage(`""`)
			}
			if item != nil {
				items = append(items, item)
			}
			ok = ok && isValid
		}
		if len(items) == 0 && !q.Required {
			return nil, ok
		}
		return jsonraw.ListOf(items, func(item json.RawMessage) json.RawMessage { return item }), ok
	case choiceShape:
		if q.choice == noChoice {
			return nil, true
		}
		return q.children[0].value()
	}
	value, err := q.jsonValue()
	if err != nil {
		q.err = err.Error()
		return jsonraw.Quote(q.input.Text()), false
	}
	return value, true
}

// jsonValue returns the JSON value of a single field, or nil if it is empty. It returns an error for a
// typed text that is not of the field's kind.
func (q *field) jsonValue() (json.RawMessage, error) {
	switch q.Kind {
	case question.Boolean, question.Choice:
		if q.choice < 0 {
			return nil, nil
		}
		return q.values[q.choice], nil
	case question.Choices:
		var chosen []json.RawMessage
		for i := range q.Options {
			if q.checked[i] {
				chosen = append(chosen, q.values[i])
			}
		}
		if chosen == nil && !q.Required { // else nothing is an answer, too: the empty list
			return nil, nil
		}
		return jsonraw.ListOf(chosen, func(v json.RawMessage) json.RawMessage { return v }), nil
	}
	text := q.input.Text()
	if text == "" {
		return nil, nil
	}
	if q.Kind == question.Other && jsonraw.Valid([]byte(text)) != nil {
		return nil, errors.New("is not JSON")
	}
	return q.ParseTyped(text, false) // options are not numbered here
}
