package tui

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/question"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/tui/cells"
	"mcpc/internal/validate"
)

// A form has fields to fill in, and buttons below them.
type form struct {
	Title   string
	Text    string // the server's description
	Buttons []string
	form    question.Form
	fields  []field
	focused int // a field, then a button
	top     int
}

type field struct {
	question.Field
	input   input
	choice  int // of Options, or of false and true; -1 is none
	checked []bool
	err     string
}

// newForm returns a form for a schema. Its fields have the given values, or else the defaults.
func newForm(schema, given json.RawMessage, buttons ...string) *form {
	params := jsonraw.With(json.RawMessage("{}"), "requestedSchema", schema)
	parsed, _ := question.ParseForm(params)
	f := &form{form: parsed, Buttons: buttons}
	members, _ := jsonraw.Object(given)
	for _, q := range parsed.Fields {
		value := q.Default
		if v, ok := members.Get(q.Name); ok {
			value = v
		}
		f.fields = append(f.fields, newField(q, value))
	}
	return f
}

// newField returns the field of a question, with value as its content.
func newField(q question.Field, value json.RawMessage) field {
	f := field{Field: q, choice: -1, checked: make([]bool, len(q.Options))}
	text, isText := jsonraw.Text(value)
	if !isText {
		text = string(value)
	}
	switch q.Kind {
	case question.Boolean:
		if f.Options == nil {
			f.Options = []question.Option{{Value: "false", Title: "no"}, {Value: "true", Title: "yes"}}
		}
		f.choice = slices.IndexFunc(f.Options, func(o question.Option) bool { return o.Value == text })
	case question.Choice:
		f.choice = slices.IndexFunc(f.Options, func(o question.Option) bool { return o.Value == text })
	case question.Choices:
		values, _ := jsonraw.Array(value)
		for i, o := range f.Options {
			f.checked[i] = slices.ContainsFunc(values, func(v json.RawMessage) bool { t, _ := jsonraw.Text(v); return t == o.Value })
		}
	default:
		f.input = newInput(text)
	}
	return f
}

// Key handles a key. It returns the pressed button, or "".
func (f *form) Key(name, text string) string {
	switch name {
	case "tab", "down":
		f.focused = (f.focused + 1) % (len(f.fields) + len(f.Buttons))
	case "shift+tab", "up":
		f.focused = (f.focused + len(f.fields) + len(f.Buttons) - 1) % (len(f.fields) + len(f.Buttons))
	case "ctrl+s":
		return f.Buttons[0]
	case "enter":
		if f.focused >= len(f.fields) {
			return f.Buttons[f.focused-len(f.fields)]
		}
		f.focused++
	default:
		if f.focused < len(f.fields) {
			f.fields[f.focused].key(name, text)
		} else if step := map[string]int{"left": -1, "right": 1}[name]; step != 0 {
			f.focused = max(len(f.fields), min(f.focused+step, len(f.fields)+len(f.Buttons)-1))
		}
	}
	return ""
}

// Paste types text into the current field.
func (f *form) Paste(text string) {
	if f.focused < len(f.fields) {
		f.fields[f.focused].key("", text)
	}
}

// key handles a key in the field.
func (f *field) key(name, text string) {
	f.err = ""
	step := map[string]int{"right": 1, "left": -1, "space": 1}[name]
	switch f.Kind {
	case question.Boolean, question.Choice:
		if n := len(f.Options); step != 0 && n > 0 {
			if f.choice < 0 && step < 0 {
				f.choice = 0
			}
			f.choice = (f.choice + step + n) % n
		} else if name == "backspace" || name == "delete" {
			f.choice = -1
		}
	case question.Choices:
		n := len(f.Options)
		if n == 0 {
			return
		}
		at := max(f.choice, 0)
		if name == "space" {
			f.checked[at] = !f.checked[at]
			step = 0
		}
		f.choice = (at + step + n) % n
	default:
		f.input.Key(name, text)
	}
}

// Content returns the values of the fields. It reports false if a value is missing or invalid, and
// marks these fields.
func (f *form) Content() (content json.RawMessage, ok bool) {
	values := map[string]json.RawMessage{}
	ok = true
	for i := range f.fields {
		q := &f.fields[i]
		value, err := q.jsonValue()
		q.err = ""
		if err != nil {
			q.err = err.Error()
			ok = false
		}
		values[q.Name] = value
	}
	content = f.form.Content(values)
	for _, name := range f.form.Missing(content) {
		ok = f.markError(name, "is required")
	}
	findings := f.form.Check(content)
	if schema, _, err := validate.Compile(f.form.Schema); ok && err == nil {
		more, _ := schema.Check(content)
		findings = append(findings, more...)
	}
	for _, finding := range findings {
		name, _, _ := strings.Cut(strings.TrimPrefix(finding.Pointer, "/"), "/")
		ok = f.markError(name, finding.Text)
	}
	return content, ok
}

// markError marks a field with an error and selects it. An error about the whole form is shown in the
// first field. It always returns false.
func (f *form) markError(name, text string) bool {
	at := max(0, slices.IndexFunc(f.fields, func(q field) bool { return q.Name == name }))
	if at < len(f.fields) && f.fields[at].err == "" {
		f.fields[at].err = text
		f.focused = at
	}
	return false
}

// Values returns the values of the fields, valid or not.
func (f *form) Values() json.RawMessage { content, _ := f.Content(); return content }

// jsonValue returns the JSON value of the field, or nil if it is empty.
func (f *field) jsonValue() (json.RawMessage, error) {
	switch f.Kind {
	case question.Boolean:
		if f.choice < 0 {
			return nil, nil
		}
		return json.RawMessage(f.Options[f.choice].Value), nil
	case question.Choice:
		if f.choice < 0 {
			return nil, nil
		}
		return jsonraw.Quote(f.Options[f.choice].Value), nil
	case question.Choices:
		var chosen []string
		for i, o := range f.Options {
			if f.checked[i] {
				chosen = append(chosen, o.Value)
			}
		}
		if chosen == nil && !f.Required {
			return nil, nil
		}
		return jsonraw.ListOf(chosen, jsonraw.Quote), nil
	}
	text := f.input.Text()
	if text == "" {
		return nil, nil
	}
	if f.Kind == question.Other && jsonraw.Valid([]byte(text)) != nil {
		return nil, errors.New("is not JSON")
	}
	return f.ParseTyped(text, false)
}

// Lines draws the form in w columns and at most h lines, and keeps the active field visible.
func (f *form) Lines(w, h int, active bool) []cells.Line {
	var lines []cells.Line
	lines = append(lines, cells.TextLine(cells.Strong, f.Title))
	if f.Text != "" {
		lines = append(lines, cells.Wrap(cells.Plain, f.Text, w)...)
	}
	seen := 0
	wide := 6
	for i := range f.fields {
		wide = min(max(wide, cells.TextLine(cells.Plain, f.fields[i].Label()).Width()+2), w/3)
	}
	for i := range f.fields {
		if i == f.focused {
			seen = len(lines)
		}
		lines = append(lines, f.fields[i].draw(w, wide, active && i == f.focused)...)
	}
	buttons := cells.Line{cells.Blank(wide + 1)}
	for i, b := range f.Buttons {
		role := cells.Strong
		if active && f.focused == len(f.fields)+i {
			role = cells.Cursor
			seen = len(lines)
		}
		buttons = append(buttons, cells.Text(role, "[ "+b+" ]"), cells.Blank(2))
	}
	lines = append(lines, buttons)
	f.top = max(0, min(f.top, seen, len(lines)-h))
	if seen >= f.top+h-1 {
		f.top = max(0, min(seen-h+2, len(lines)-h))
	}
	return lines[f.top:min(f.top+h, len(lines))]
}

// draw draws a field: its name, its value, and its error or hint.
func (f *field) draw(w, wide int, active bool) (lines []cells.Line) {
	name := f.Label()
	if f.Required {
		name += " *"
	}
	line := cells.Line{cells.Right(cells.Accent, name, wide), cells.Blank(1)}
	room := max(w-wide-1, 8)
	switch f.Kind {
	case question.Boolean, question.Choice, question.Choices:
		line = append(line, f.drawOptions(active)...)
	default:
		line = append(line, f.input.Line(room, active, -1)...)
	}
	lines = append(lines, line)
	hint := strings.TrimSpace(strings.Join([]string{f.Limits(), f.Description}, "  "))
	if f.Kind == question.Other {
		hint = "JSON  " + hint
	}
	if f.IsSecret() {
		hint = "looks like a secret: servers must not ask for these in a form  " + hint
	}
	if f.err != "" {
		lines = append(lines, cells.Line{cells.Blank(wide + 1), cells.Fit(cells.Bad, "! "+f.err, room)})
	} else if active && hint != "" {
		lines = append(lines, cells.Line{cells.Blank(wide + 1), cells.Fit(cells.Faint, hint, room)})
	}
	return lines
}

// drawOptions draws the choices of the field.
func (f *field) drawOptions(active bool) (line cells.Line) {
	for i, o := range f.Options {
		box := "( ) "
		on := f.choice == i
		if on {
			box = "(•) "
		}
		if f.Kind == question.Choices {
			box = "[ ] "
			if f.checked[i] {
				box = "[x] "
			}
		}
		role := cells.Plain
		if active && (on || f.choice < 0 && i == 0) {
			role = cells.Cursor
		}
		line = append(line, cells.Text(role, box+o.Title), cells.Blank(2))
	}
	return line
}

// questionForm returns the form for a question. For a page it only shows the address and never
// opens it.
func questionForm(q *view.Question) *form {
	schema := q.Schema
	text := q.Message
	if q.URL != "" {
		schema = nil
		host := q.URL
		if u, err := url.Parse(q.URL); err == nil && u.Host != "" {
			host = u.Host
		}
		text += "\nasks to open a page of " + host + ", which mcpc does not open:\n" + q.URL
	} else if len(schema) == 0 && q.Method != "elicitation/create" {
		text += "\n" + string(q.Params)
		schema = json.RawMessage(`{"type":"object","properties":{"result":` +
			`{"type":"object","title":"result","description":"the result to send"}}}`)
	}
	f := newForm(schema, nil, "Accept", "Decline", "Cancel")
	f.Title = q.Server + " asks: " + q.Method
	f.Text = text
	return f
}

// indented returns JSON with one member per line in about w columns. Other text is returned
// unchanged.
func indented(text string, w int) string {
	if checkJSON(text) != "" {
		return text
	}
	return strings.TrimSpace(string(render.IndentJSON(term.Style{Width: w}, []byte(text))))
}

// checkJSON returns an error text if text is not JSON, or else "".
func checkJSON(text string) string {
	if err := jsonraw.Valid([]byte(text)); err != nil {
		return "not JSON: " + err.Error()
	}
	return ""
}
