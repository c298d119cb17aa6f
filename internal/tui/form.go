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
	form    question.Form // the schema of the fields
	fields  []field
	focused int // the index of a field, or after all fields of a button
	top     int // the first line on the screen
}

// A field is the state of one question of a form. Which members it uses depends on Kind.
type field struct {
	question.Field
	input   input  // the typed text of a Text, Number, Integer or Other
	choice  int    // the index of the chosen option, or noChoice; in Choices, of the option under the cursor
	checked []bool // by option, of Choices
	err     string // why the value is invalid; "" if it is not known to be
}

// noChoice is the value of field.choice if no option is chosen.
const noChoice = -1

// newForm returns a form for a schema. Its fields have the given values, or else the defaults.
func newForm(schema, given json.RawMessage, buttons ...string) *form {
	// ParseForm reads the params of a question. Without a schema the form has no fields.
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
	result := field{Field: q, choice: noChoice, checked: make([]bool, len(q.Options))}
	text, isText := jsonraw.Text(value)
	if !isText {
		text = string(value)
	}
	switch q.Kind {
	case question.Boolean:
		if result.Options == nil {
			result.Options = []question.Option{{Value: "false", Title: "no"}, {Value: "true", Title: "yes"}}
		}
		result.choice = slices.IndexFunc(result.Options, func(o question.Option) bool { return o.Value == text })
	case question.Choice:
		result.choice = slices.IndexFunc(result.Options, func(o question.Option) bool { return o.Value == text })
	case question.Choices:
		values, _ := jsonraw.Array(value)
		for i, o := range result.Options {
			result.checked[i] = slices.ContainsFunc(values, func(v json.RawMessage) bool {
				checked, _ := jsonraw.Text(v)
				return checked == o.Value
			})
		}
	default:
		result.input = newInput(text)
	}
	return result
}

// Key handles a key: it moves the focus among the fields and the buttons, or passes the key to the
// focused field. It returns the pressed button, or "".
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
		} else if step := map[string]int{"left": -1, "right": 1}[name]; step != 0 { // between the buttons
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

// key handles a key in the field, and removes its error. In a choice the arrows choose an option;
// in Choices they move, and space checks the option.
func (f *field) key(name, text string) {
	f.err = ""
	step := map[string]int{"right": 1, "left": -1, "space": 1}[name]
	switch f.Kind {
	case question.Boolean, question.Choice:
		if n := len(f.Options); step != 0 && n > 0 {
			if f.choice < 0 && step < 0 { // to the left of no choice is the last option
				f.choice = 0
			}
			f.choice = (f.choice + step + n) % n
		} else if name == "backspace" || name == "delete" {
			f.choice = noChoice
		}
	case question.Choices:
		n := len(f.Options)
		if n == 0 {
			return
		}
		cursor := max(f.choice, 0)
		if name == "space" {
			f.checked[cursor] = !f.checked[cursor]
			step = 0
		}
		f.choice = (cursor + step + n) % n
	default:
		f.input.Key(name, text)
	}
}

// Content returns the values of the fields. It reports false if a value is missing or invalid, and
// marks these fields. It then selects the last of them.
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
		f.markError(name, "is required")
		ok = false
	}
	findings := f.form.Check(content)
	// The schema may have more rules than a form knows. A schema that does not compile adds no
	// rules.
	if schema, _, err := validate.Compile(f.form.Schema); ok && err == nil {
		schemaFindings, _ := schema.Check(content)
		findings = append(findings, schemaFindings...)
	}
	for _, finding := range findings {
		name, _, _ := strings.Cut(strings.TrimPrefix(finding.Pointer, "/"), "/")
		f.markError(name, finding.Text)
		ok = false
	}
	return content, ok
}

// markError marks a field with an error and selects it. An error about the whole form is shown in the
// first field.
func (f *form) markError(name, text string) {
	index := max(0, slices.IndexFunc(f.fields, func(q field) bool { return q.Name == name }))
	if index < len(f.fields) && f.fields[index].err == "" {
		f.fields[index].err = text
		f.focused = index
	}
}

// Values returns the values of the fields, valid or not.
func (f *form) Values() json.RawMessage { content, _ := f.Content(); return content }

// jsonValue returns the JSON value of the field, or nil if it is empty. It returns an error for a
// typed text that is not of the field's kind.
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
		if chosen == nil && !f.Required { // else nothing is an answer, too: the empty list
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
	return f.ParseTyped(text, false) // options are not numbered here
}

// Lines draws the form in w columns and at most h lines, and keeps the focused field or button
// visible. hasFocus is set if the form has the keys.
func (f *form) Lines(w, h int, hasFocus bool) []cells.Line {
	var lines []cells.Line
	lines = append(lines, cells.TextLine(cells.Strong, f.Title))
	if f.Text != "" {
		lines = append(lines, cells.Wrap(cells.Plain, f.Text, w)...)
	}
	labelWidth := 6 // of all names, so that the values are below each other
	for i := range f.fields {
		labelWidth = min(max(labelWidth, cells.TextLine(cells.Plain, f.fields[i].Label()).Width()+2), w/3)
	}
	focusedLine := 0
	for i := range f.fields {
		if i == f.focused {
			focusedLine = len(lines)
		}
		lines = append(lines, f.fields[i].draw(w, labelWidth, hasFocus && i == f.focused)...)
	}
	buttons := cells.Line{cells.Blank(labelWidth + 1)}
	for i, b := range f.Buttons {
		role := cells.Strong
		if hasFocus && f.focused == len(f.fields)+i {
			role = cells.Cursor
			focusedLine = len(lines)
		}
		buttons = append(buttons, cells.Text(role, "[ "+b+" ]"), cells.Blank(2))
	}
	lines = append(lines, buttons)
	f.top = max(0, min(f.top, focusedLine, len(lines)-h))
	if focusedLine >= f.top+h-1 { // one line for the error or the hint of the field
		f.top = max(0, min(focusedLine-h+2, len(lines)-h))
	}
	return lines[f.top:min(f.top+h, len(lines))]
}

// draw draws a field: its name in labelWidth columns, its value, and its error or hint.
func (f *field) draw(w, labelWidth int, active bool) []cells.Line {
	name := f.Label()
	if f.Required {
		name += " *"
	}
	line := cells.Line{cells.Right(cells.Accent, name, labelWidth), cells.Blank(1)}
	room := max(w-labelWidth-1, 8)
	switch f.Kind {
	case question.Boolean, question.Choice, question.Choices:
		line = append(line, f.drawOptions(active)...)
	default:
		line = append(line, f.input.Line(room, active, noError)...)
	}
	lines := []cells.Line{line}
	hint := strings.TrimSpace(strings.Join([]string{f.Limits(), f.Description}, "  "))
	if f.Kind == question.Other {
		hint = "JSON  " + hint
	}
	if f.IsSecret() {
		hint = "looks like a secret: servers must not ask for these in a form  " + hint
	}
	if f.err != "" {
		lines = append(lines, cells.Line{cells.Blank(labelWidth + 1), cells.Fit(cells.Bad, "! "+f.err, room)})
	} else if active && hint != "" {
		lines = append(lines, cells.Line{cells.Blank(labelWidth + 1), cells.Fit(cells.Faint, hint, room)})
	}
	return lines
}

// drawOptions draws the choices of the field.
func (f *field) drawOptions(active bool) cells.Line {
	cursor := max(f.choice, 0)
	var line cells.Line
	for i, o := range f.Options {
		box := "( ) "
		if f.Kind == question.Choices {
			box = "[ ] "
			if f.checked[i] {
				box = "[x] "
			}
		} else if i == f.choice {
			box = "(•) "
		}
		role := cells.Plain
		if active && i == cursor {
			role = cells.Cursor
		}
		line = append(line, cells.Text(role, box+o.Title), cells.Blank(2))
	}
	return line
}

// questionForm returns the form for a question. For a page it only shows the address and never
// opens it. A request without a form, such as sampling, gets one field for the JSON of its result.
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
	f := newForm(schema, nil, acceptButton, declineButton, cancelButton)
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
