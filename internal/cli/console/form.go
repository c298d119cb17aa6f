package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/connect/host"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/sliceutil"
)

// A Form asks for one field after the other, shows what will be sent, and sends it if the user
// agrees.
type Form struct {
	*Dialog
	Form  question.Form
	Asker string
	// isForTool is set if mcpc itself asks for the arguments of a tool: there is no server request to
	// decline.
	isForTool bool
	// Broken checks a value against a schema.
	Broken host.FormCheck
}

var errDeclined = errors.New("declined")

// Run asks the user, and returns the result for the server: accept, decline or cancel.
func (f *Form) Run() json.RawMessage {
	f.Say("%s asks: %s", f.Line(f.Asker), f.Style.Strong(f.Line(f.Form.Message)))
	if len(f.Form.Fields) > 0 {
		f.Say("%s", f.Style.Faint("An empty line accepts the [default], - omits a field,"))
		f.Say("%s", f.Style.Faint("/decline declines, Ctrl-D cancels, Ctrl-C ends the command."))
	}
	values := map[string]json.RawMessage{}
	for {
		err := f.askFields(values)
		if errors.Is(err, errDeclined) {
			return question.Decline()
		}
		if err != nil {
			return question.Cancel()
		}
		content := f.Form.Content(values)
		f.showSummary(content)
		// The first check is of the rules for forms, the second of the whole schema.
		findings := append(f.Form.Check(content), f.Broken(f.Form.Schema, content)...)
		for _, finding := range findings {
			f.Say("  %s", f.Style.Alert(f.Line(strings.TrimSpace(finding.Pointer+" "+finding.Text))))
		}
		prompt := "[s]end (Enter), [e]dit, [d]ecline, [c]ancel"
		words := []string{"send", "edit", "decline", "cancel"}
		if len(findings) > 0 { // invalid content cannot be sent
			prompt = "[e]dit (Enter), [d]ecline, [c]ancel"
			words = words[1:]
		}
		word, err := f.Choose(prompt, words[0], words...)
		if err != nil {
			return question.Cancel()
		}
		switch word {
		case "send":
			return question.Accept(content)
		case "decline":
			return question.Decline()
		case "cancel":
			return question.Cancel()
		}
		// After "edit", all fields are asked for again, with the typed values as defaults.
	}
}

// askFields asks for every field and stores the values, by field name, in values. A value that is
// there already is the default; a nil value omits the field. The error is errDeclined if the user
// declines, otherwise from reading a line.
func (f *Form) askFields(values map[string]json.RawMessage) error {
	for _, field := range f.Form.Fields {
		current, given := values[field.Name]
		if !given {
			current = field.Default
		}
		f.introduce(field)
		value, err := f.askField(field, current)
		if err != nil {
			return err
		}
		values[field.Name] = value
	}
	return nil
}

// introduce shows the name, the description and the options of a field.
func (f *Form) introduce(field question.Field) {
	f.Say("")
	line := f.Style.Strong(f.Line(field.Label()))
	if field.Required && !f.isForTool {
		line += " (required)"
	}
	if field.Description != "" {
		line += ": " + f.Line(field.Description)
	}
	f.Say("%s", line)
	if field.IsSecret() && !f.isForTool {
		f.Say("  %s this looks like a secret; servers must not request secrets in a form", f.Style.Alert("warning:"))
	}
	for i, o := range field.Options {
		title := f.Line(o.Title)
		if o.Title != o.Value {
			title += " (" + f.Line(o.Value) + ")"
		}
		f.Say("  %d  %s", i+1, title)
	}
}

// askField asks for a field until the typed value is valid, and returns it. An empty line means
// current, the default, which may be nil. A nil value omits the field. The errors are the same as
// for askFields.
func (f *Form) askField(field question.Field, current json.RawMessage) (json.RawMessage, error) {
	prompt := hints[field.Kind]
	if field.Kind == question.Other {
		if example := ValidExample(field.Schema); example != nil && len(example) <= maxExample {
			prompt += ", such as " + f.Line(string(example))
		}
	}
	if limits := f.Line(field.Limits()); limits != "" {
		prompt = strings.TrimPrefix(prompt+", "+limits, ", ")
	}
	if len(current) > 0 {
		prompt = strings.TrimSpace(prompt + " [" + f.Line(f.typedForm(field, current)) + "]")
	}
	for {
		text, err := f.Ask(prompt)
		if err != nil {
			return nil, err
		}
		word := strings.TrimSpace(text)
		if word == "/decline" && !f.isForTool {
			return nil, errDeclined
		}
		if word == "" && (len(current) > 0 || !field.Required) {
			return current, nil
		}
		if word == "-" && !field.Required {
			return nil, nil // the field is omitted
		}
		if word == "" {
			asker := "server"
			if f.isForTool {
				asker = "tool"
			}
			f.Say("  %s", f.Style.Alert("required by the "+asker))
			continue
		}
		value, err := field.ParseTyped(text, true) // true: the number of an option stands for it
		if err == nil {
			if findings := f.Broken(field.Schema, value); len(findings) > 0 {
				err = errors.New(findings[0].Text)
			}
		}
		if err == nil {
			return value, nil
		}
		f.Say("  %s", f.Style.Alert(f.Line(err.Error())))
	}
}

// maxExample limits an example beside a prompt, in bytes.
const maxExample = 120

// hints describe what the kinds of fields take, except plain text.
var hints = map[question.Kind]string{
	question.Number: "number", question.Integer: "integer", question.Boolean: "yes or no",
	question.Choices: "several, separated by commas", question.Other: "JSON",
}

// typedForm returns the JSON value of a field as a user would type it.
func (f *Form) typedForm(field question.Field, value json.RawMessage) string {
	text, isText := jsonraw.Text(value)
	if isText {
		return text
	}
	if string(value) == "true" {
		return "yes"
	}
	if string(value) == "false" {
		return "no"
	}
	if field.Kind == question.Choices {
		items, _ := jsonraw.Array(value)
		return strings.Join(sliceutil.Map(items, toolcall.TextOf), ", ")
	}
	return string(jsonraw.Compact(value))
}

// showSummary shows what will be sent, with the server's names.
func (f *Form) showSummary(content json.RawMessage) {
	f.Say("")
	f.Say("%s", f.Style.Strong("This will be sent to "+f.Line(f.Asker)+":"))
	members, _ := jsonraw.Object(content)
	if len(members) == 0 {
		f.Say("  (no fields)")
	}
	width := 0
	for _, m := range members {
		width = max(width, len(f.Line(m.Name)))
	}
	for _, m := range members {
		line := fmt.Sprintf("%-*s  %s", width, f.Line(m.Name), f.Line(string(m.Value)))
		f.Say("  %s", strings.TrimRight(line, " "))
	}
}

// Arguments asks for the arguments of the tool Asker, and returns them by name; the value of an
// omitted argument is nil. It returns nil if the user gives up.
func (f *Form) Arguments() map[string]json.RawMessage {
	f.isForTool = true
	f.Say("%s needs more arguments. Ctrl-D cancels; nothing is sent.", f.Line(f.Asker))
	values := map[string]json.RawMessage{}
	if f.askFields(values) != nil {
		return nil
	}
	f.Say("")
	return values
}
