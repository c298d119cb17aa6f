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

// A Form asks for one field after the other, shows what will be sent, and
// sends it after a word.
type Form struct {
	*Dialog
	Form  question.Form
	Asker string
	// own is set where mcpc itself asks: there is no server request to decline.
	own bool
	// Broken holds a value against a schema.
	Broken host.FormCheck
}

var errDeclined = errors.New("declined")

func (f *Form) Run() json.RawMessage {
	f.Say("%s asks: %s", f.Line(f.Asker), f.Style.Strong(f.Line(f.Form.Message)))
	if len(f.Form.Fields) > 0 {
		f.Say("%s", f.Style.Faint("An empty line accepts the [default], - omits a field,"))
		f.Say("%s", f.Style.Faint("/decline declines, Ctrl-D cancels, Ctrl-C ends the command."))
	}
	values := map[string]json.RawMessage{}
	for {
		if err := f.fields(values); errors.Is(err, errDeclined) {
			return question.Decline()
		} else if err != nil {
			return question.Cancel()
		}
		content := f.Form.Content(values)
		f.summary(content)
		findings := append(f.Form.Check(content), f.Broken(f.Form.Schema, content)...)
		for _, finding := range findings {
			f.Say("  %s", f.Style.Alert(f.Line(strings.TrimSpace(finding.Where+" "+finding.Text))))
		}
		prompt := "[s]end (Enter), [e]dit, [d]ecline, [c]ancel"
		words := []string{"send", "edit", "decline", "cancel"}
		if len(findings) > 0 {
			prompt = "[e]dit (Enter), [d]ecline, [c]ancel"
			words = words[1:]
		}
		switch word, err := f.Choose(prompt, words[0], words...); {
		case err != nil:
			return question.Cancel()
		case word == "send":
			return question.Accept(content)
		case word == "decline":
			return question.Decline()
		case word == "cancel":
			return question.Cancel()
		}
	}
}

// fields asks for every field; what was typed before is its default.
func (f *Form) fields(values map[string]json.RawMessage) error {
	for _, field := range f.Form.Fields {
		current, given := values[field.Name]
		if !given {
			current = field.Default
		}
		f.introduce(field)
		value, err := f.field(field, current)
		if err != nil {
			return err
		}
		values[field.Name] = value
	}
	return nil
}

// introduce says what a field is about.
func (f *Form) introduce(field question.Field) {
	f.Say("")
	line := f.Style.Strong(f.Line(field.Label()))
	if field.Required && !f.own {
		line += " (required)"
	}
	if field.Description != "" {
		line += ": " + f.Line(field.Description)
	}
	f.Say("%s", line)
	if field.Secret() && !f.own {
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

// field asks until what is typed fits.
func (f *Form) field(field question.Field, current json.RawMessage) (json.RawMessage, error) {
	prompt := hints[field.Kind]
	if field.Kind == question.Other {
		if example := ValidExample(field.Schema); example != nil && len(example) <= longestExample {
			prompt += ", such as " + f.Line(string(example))
		}
	}
	if limits := f.Line(field.Limits()); limits != "" {
		prompt = strings.TrimPrefix(prompt+", "+limits, ", ")
	}
	if len(current) > 0 {
		prompt = strings.TrimSpace(prompt + " [" + f.Line(f.plain(field, current)) + "]")
	}
	for {
		text, err := f.Ask(prompt)
		switch word := strings.TrimSpace(text); {
		case err != nil:
			return nil, err
		case word == "/decline" && !f.own:
			return nil, errDeclined
		case word == "" && (len(current) > 0 || !field.Required):
			return current, nil
		case word == "-" && !field.Required:
			return nil, nil
		case word == "":
			f.Say("  %s", f.Style.Alert(needed[f.own]))
			continue
		}
		value, err := field.Read(text, true)
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

// longestExample of a value still fits beside a prompt.
const longestExample = 120

// needed is the message for a required field that was left out, by FormDialog.own.
var needed = map[bool]string{false: "required by the server", true: "required by the tool"}

// hints are what the kinds of fields take, where it is no plain text.
var hints = map[question.Kind]string{
	question.Number: "number", question.Integer: "integer", question.Boolean: "yes or no",
	question.Choices: "several, separated by commas", question.Other: "JSON",
}

// plain is a value as a person would type it.
func (f *Form) plain(field question.Field, value json.RawMessage) string {
	switch text, isText := jsonraw.Text(value); {
	case isText:
		return text
	case string(value) == "true":
		return "yes"
	case string(value) == "false":
		return "no"
	case field.Kind == question.Choices:
		items, _ := jsonraw.Array(value)
		return strings.Join(sliceutil.Map(items, toolcall.TextOf), ", ")
	}
	return string(jsonraw.Compact(value))
}

// summary shows what will be sent, in the server's own names.
func (f *Form) summary(content json.RawMessage) {
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
		f.Say("  %s", strings.TrimRight(fmt.Sprintf("%-*s  %s", width, f.Line(m.Name), f.Line(string(m.Value))), " "))
	}
}

// Arguments asks for arguments of the tool Asker, nil where the user gives up.
func (f *Form) Arguments() map[string]json.RawMessage {
	f.own = true
	f.Say("%s needs more arguments. Ctrl-D cancels; nothing is sent.", f.Line(f.Asker))
	values := map[string]json.RawMessage{}
	if f.fields(values) != nil {
		return nil
	}
	f.Say("")
	return values
}
