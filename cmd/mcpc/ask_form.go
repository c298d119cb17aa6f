package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// fillForm has the user fill in a form.
func (a *app) fillForm(ctx context.Context, q client.Asking, from string, check formCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return noForm(err)
	}
	d := a.dialog(ctx)
	if a.forms++; a.forms > 1 {
		d.say("") // parts it from the one before
	}
	f := formDialog{dialog: d, form: form, asker: from, broken: check}
	return client.Answer{Result: f.run()}
}

// A formDialog asks for one field after the other, shows what will be sent, and
// sends it after a word.
type formDialog struct {
	*dialog
	form  question.Form
	asker string
	// own is set where mcpc asks for itself: nobody is there to be declined.
	own bool
	// broken holds a value against a schema.
	broken formCheck
}

var errDeclined = errors.New("declined")

func (f *formDialog) run() json.RawMessage {
	f.say("%s asks: %s", f.line(f.asker), f.style.Strong(f.line(f.form.Message)))
	if len(f.form.Fields) > 0 {
		f.say("%s", f.style.Faint("An empty line accepts the [default], - omits a field,"))
		f.say("%s", f.style.Faint("/decline declines, Ctrl-D cancels, Ctrl-C ends the command."))
	}
	values := map[string]json.RawMessage{}
	for {
		if err := f.fields(values); err != nil {
			return refused(err)
		}
		content := f.form.Content(values)
		f.summary(content)
		findings := append(f.form.Check(content), f.broken(f.form.Schema, content)...)
		for _, finding := range findings {
			f.say("  %s", f.style.Alert(f.line(strings.TrimSpace(finding.Where+" "+finding.Text))))
		}
		prompt, words := "[s]end (Enter), [e]dit, [d]ecline, [c]ancel", []string{"send", "edit", "decline", "cancel"}
		if len(findings) > 0 {
			prompt, words = "[e]dit (Enter), [d]ecline, [c]ancel", words[1:]
		}
		switch word, err := f.choose(prompt, words[0], words...); {
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

// refused is the answer of who did not go through with it.
func refused(err error) json.RawMessage {
	if errors.Is(err, errDeclined) {
		return question.Decline()
	}
	return question.Cancel()
}

// fields asks for every field; what was typed before stands there already.
func (f *formDialog) fields(values map[string]json.RawMessage) error {
	for _, field := range f.form.Fields {
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
func (f *formDialog) introduce(field question.Field) {
	f.say("")
	line := f.style.Strong(f.line(field.Label()))
	if field.Required && !f.own {
		line += " (required)"
	}
	if field.Description != "" {
		line += ": " + f.line(field.Description)
	}
	f.say("%s", line)
	if field.Secret() && !f.own {
		f.say("  %s this looks like a secret; servers must not request secrets in a form", f.style.Alert("warning:"))
	}
	for i, o := range field.Options {
		title := f.line(o.Title)
		if o.Title != o.Value {
			title += " (" + f.line(o.Value) + ")"
		}
		f.say("  %d  %s", i+1, title)
	}
}

// field asks until what is typed fits.
func (f *formDialog) field(field question.Field, current json.RawMessage) (json.RawMessage, error) {
	prompt := hints[field.Kind]
	if field.Kind == question.Other {
		if example := validExample(field.Schema); example != nil && len(example) <= longestExample {
			prompt += ", such as " + f.line(string(example))
		}
	}
	if limits := f.line(field.Limits()); limits != "" {
		prompt = strings.TrimPrefix(prompt+", "+limits, ", ")
	}
	if len(current) > 0 {
		prompt = strings.TrimSpace(prompt + " [" + f.line(f.plain(field, current)) + "]")
	}
	for {
		text, err := f.ask(prompt)
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
			f.say("  %s", f.style.Alert(needed[f.own]))
			continue
		}
		value, err := field.Read(text, true)
		if err == nil {
			if findings := f.broken(field.Schema, value); len(findings) > 0 {
				err = errors.New(findings[0].Text)
			}
		}
		if err == nil {
			return value, nil
		}
		f.say("  %s", f.style.Alert(f.line(err.Error())))
	}
}

// longestExample of a value still fits beside a prompt.
const longestExample = 120

// needed is what who leaves out a required field is told.
var needed = map[bool]string{false: "required by the server", true: "required by the tool"}

// hints are what the kinds of fields take, where it is no plain text.
var hints = map[question.Kind]string{
	question.Number: "number", question.Integer: "integer", question.Boolean: "yes or no",
	question.Choices: "several, separated by commas", question.Other: "JSON",
}

// plain is a value as a person would type it.
func (f *formDialog) plain(field question.Field, value json.RawMessage) string {
	switch text, isText := wire.Text(value); {
	case isText:
		return text
	case string(value) == "true":
		return "yes"
	case string(value) == "false":
		return "no"
	case field.Kind == question.Choices:
		items, _ := wire.Array(value)
		return strings.Join(mapped(items, textOf), ", ")
	}
	return string(wire.Compact(value))
}

// textOf is the text that a value is, "" for any other.
func textOf(value json.RawMessage) string {
	text, _ := wire.Text(value)
	return text
}

// summary shows what will be sent, in the server's own names.
func (f *formDialog) summary(content json.RawMessage) {
	f.say("")
	f.say("%s", f.style.Strong("This will be sent to "+f.line(f.asker)+":"))
	members, _ := wire.Object(content)
	if len(members) == 0 {
		f.say("  (no fields)")
	}
	width := 0
	for _, m := range members {
		width = max(width, len(f.line(m.Name)))
	}
	for _, m := range members {
		f.say("  %s", strings.TrimRight(fmt.Sprintf("%-*s  %s", width, f.line(m.Name), f.line(string(m.Value))), " "))
	}
}
