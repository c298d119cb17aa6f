package elicit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/sliceutil"
	"mcpc/internal/usage"
	"mcpc/internal/validate"
	"mcpc/internal/wire"
)

// A script has the values of --answer: fields, or whole contents. `mcpc help answering` has the
// grammar.
type script struct {
	// fields are FIELD=VALUE pairs in the order they were typed in.
	fields [][2]string
	// contents are used in order; a single one is used for every form. byName are the contents for
	// the requests of these names.
	contents []jsonraw.Members
	byName   map[string]jsonraw.Members
	// used counts the contents that were used, or the forms that were filled from fields.
	used int
}

// readScript parses the values of --answer. Each is FIELD=VALUE, JSON, or @FILE with JSON. It returns
// an error for any other value, and if fields and JSON are mixed.
func readScript(e *host.Env, texts []string) (script, error) {
	s := script{byName: map[string]jsonraw.Members{}}
	for _, text := range texts {
		raw := []byte(text)
		source := "--answer"
		if strings.HasPrefix(text, "@") {
			var err error
			raw, source, err = e.UI.Input(text)
			if err != nil {
				return s, err
			}
		}
		name, value, isField := strings.Cut(text, "=")
		trimmed := bytes.TrimSpace(raw)
		// No name of a field begins with a bracket, so text that does is JSON.
		isJSON := bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("["))
		switch {
		case isJSON:
			if err := s.addContents(trimmed, source); err != nil {
				return s, err
			}
		case isField && !strings.HasPrefix(text, "@"):
			s.fields = append(s.fields, [2]string{name, value})
		default:
			return s, usage.New(source+" is neither FIELD=VALUE nor JSON: "+jsonraw.Excerpt(raw, 40), wire.Run("help answering"))
		}
	}
	if len(s.fields) > 0 && (len(s.contents) > 0 || len(s.byName) > 0) {
		return s, usage.New("--answer takes fields or whole objects, not both", wire.Run("help answering"))
	}
	return s, nil
}

// addContents adds one content, a list of contents, or an object of contents by name. An object
// whose values are all objects is of the last form. Invalid JSON is a usage error that names
// source.
func (s *script) addContents(raw []byte, source string) error {
	if bad := jsonraw.Valid(raw); bad != nil {
		return arguments.NotJSON(raw, source, bad)
	}
	items := []json.RawMessage{raw}
	if raw[0] == '[' {
		items, _ = jsonraw.Array(raw)
	}
	for _, item := range items {
		members, err := jsonraw.Object(item)
		if err != nil {
			return usage.New(
				fmt.Sprintf("%s: an answer is a JSON object, not %s", source, jsonraw.Excerpt(item, 40)),
				wire.Run("help answering"),
			)
		}
		isByName := len(members) > 0 && allObjects(members)
		if !isByName {
			s.contents = append(s.contents, members)
			continue
		}
		for _, m := range members {
			s.byName[m.Name], _ = jsonraw.Object(m.Value)
		}
	}
	return nil
}

// allObjects reports whether all values are objects. No field of a form is an object, so members
// are then contents by name.
func allObjects(members jsonraw.Members) bool {
	return !slices.ContainsFunc(members, func(m jsonraw.Member) bool { return m.Value[0] != '{' })
}

// takeContent returns the content for the request with this key: the content with this name,
// otherwise the next unnamed content, which it marks as used. A single unnamed content is used for
// every request. It returns false if no content is left.
func (s *script) takeContent(key string) (content jsonraw.Members, ok bool) {
	content, ok = s.byName[key]
	if ok && key != "" { // in older revisions requests have no name
		return content, true
	}
	if len(s.contents) == 1 {
		return s.contents[0], true
	}
	if s.used < len(s.contents) {
		s.used++
		return s.contents[s.used-1], true
	}
	return nil, false
}

// answerFromScript answers a form with --answer and --answer-defaults. It reports false if they do
// not apply to the form; the answer is then for the case that the user cannot be asked.
func (r *Answerer) answerFromScript(q client.InputRequest) (client.Answer, bool) {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return NoForm(err), true
	}
	content, hasContent := r.script.takeContent(q.Key)
	hasFields := len(r.script.fields) > 0
	values := map[string]json.RawMessage{}
	var findings []wire.Finding
	switch {
	case hasContent:
		for _, m := range content {
			values[m.Name] = m.Value
			if string(m.Value) == "null" { // leaves the field out, also if it has a default
				values[m.Name] = nil
			}
			findings = append(findings, form.Check(jsonraw.With(nil, m.Name, m.Value))...)
		}
	case hasFields:
		values, findings = r.script.parseFields(form)
		r.script.used++ // only for the hint below: fields apply to every form
	case !r.Defaults:
		return client.Answer{Outcome: r.script.unansweredOutcome(q)}, false
	}
	// Without content and fields all values are the form's defaults.
	answer := form.Content(values)
	onlyDefaults := !hasContent && !hasFields
	if missing := form.Missing(answer); onlyDefaults && len(missing) > 0 {
		// The user can still fill in the form. An incomplete --answer is an error instead: see below.
		out := client.UnansweredOutcome(q.Method)
		out.Text = "the form has no default for " + strings.Join(missing, ", ")
		out.Hint = wire.Hint("--answer " + missing[0] + "=VALUE answers it")
		return client.Answer{Outcome: out}, false
	}
	findings = append(findings, r.Broken(form.Schema, answer)...)
	if len(findings) > 0 {
		invalid := invalidAnswer(form, "the answer does not match the form that the server requested", findings)
		if hasFields && r.script.used > 1 {
			invalid.Outcome.Hint = "this is not the first form, and FIELD=VALUE applies to every form: " +
				"--answer '{...}' once for each form answers them in order; " + invalid.Outcome.Hint
		}
		return invalid, true
	}
	r.noteAnswer(q.Method, "answered with "+jsonraw.Excerpt(answer, maxNoted))
	return client.Answer{Result: question.Accept(answer)}, true
}

// unansweredOutcome returns the outcome for a request that --answer does not apply to. If its contents
// have names, it says which requests they are for.
func (s *script) unansweredOutcome(q client.InputRequest) wire.Outcome {
	out := client.UnansweredOutcome(q.Method)
	names := strings.Join(slices.Sorted(maps.Keys(s.byName)), ", ")
	if names == "" {
		return out
	}
	if q.Key == "" {
		out.Text = "the server's request has no name, and --answer is for " + names
	} else {
		out.Text = "the server's request is named " + q.Key + ", and --answer is for " + names
	}
	return out
}

// parseFields parses the fields with the types of the form. Repeated fields make a list of choices. A
// nil value leaves the field out: its text is empty or invalid. Findings report the invalid ones and
// the names that are no fields of the form.
func (s *script) parseFields(form question.Form) (map[string]json.RawMessage, []wire.Finding) {
	texts := map[string]string{}
	values := map[string]json.RawMessage{}
	var findings []wire.Finding
	addFinding := func(name, text string) {
		findings = append(findings, wire.Finding{Rule: "answer", Severity: wire.Error, Pointer: "/" + name, Text: text})
	}
	for _, pair := range s.fields {
		name := pair[0]
		text := pair[1]
		field, known := form.Field(name)
		if !known {
			addFinding(name, "is not a field of the form")
			continue
		}
		if previous := texts[name]; field.Kind == question.Choices && previous != "" {
			text = previous + "," + text // as a user types several choices
		}
		texts[name] = text
		values[name] = nil // unless the text is valid: a default must not replace what the user typed
		if text == "" {
			continue
		}
		const optionsByNumber = false // numbers are shown at a terminal only
		value, err := field.ParseTyped(text, optionsByNumber)
		if err != nil {
			addFinding(name, err.Error())
			continue
		}
		values[name] = value
	}
	return values, findings
}

// Broken returns the findings of checking an answer against the schema of its form. A schema that
// cannot be evaluated is the server's fault: it warns and returns no finding.
func (r *Answerer) Broken(schema, value json.RawMessage) []wire.Finding {
	compiled, _, err := validate.Compile(schema)
	var findings []wire.Finding
	if err == nil {
		findings, err = compiled.Check(value)
	}
	if err != nil {
		r.A.UI.Warn("the answer could not be checked against the form's schema: " + err.Error())
	}
	return findings
}

// NoForm returns the answer to a request that has no valid form.
func NoForm(err error) client.Answer {
	return client.Answer{Outcome: wire.Outcome{Kind: wire.BadResponse, Text: err.Error()}}
}

// invalidAnswer returns the outcome of an answer that must not be sent. Its hint names the fields of
// the form.
func invalidAnswer(form question.Form, text string, findings []wire.Finding) client.Answer {
	names := sliceutil.Map(form.Fields, func(f question.Field) string { return f.Name })
	hint := "the form has no fields"
	if len(names) > 0 {
		hint = "the form has the fields " + strings.Join(names, ", ")
	}
	return client.Answer{
		Outcome: wire.Outcome{Kind: wire.InvalidArguments, Text: text, Hint: wire.Hint(hint), Findings: findings},
	}
}
