package web

import (
	"encoding/json"

	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/schema"
	"mcpc/internal/validate"
)

// A problem is a reason why a form does not accept a value. Pointer is the JSON pointer of the invalid part.
type problem struct {
	Pointer string `json:"pointer"`
	Text    string `json:"text"`
}

// problemsOf returns why a form does not accept a value: the texts that are not in the format of their field, and
// then what the schema does not allow. A missing member is a problem of that member. A schema that does not compile
// allows everything.
func problemsOf(raw, value json.RawMessage) []problem {
	problems := appendFormatProblems([]problem{}, schema.New(raw).Schema(), value, "")
	compiled, _, err := validate.Compile(raw)
	if err != nil {
		return problems
	}
	findings, _ := compiled.Check(value)
	for _, f := range findings {
		p := problem{Pointer: f.Pointer, Text: f.Text}
		if f.Rule == "required" {
			name, _ := jsonraw.Text([]byte(f.Want))
			p.Pointer = jsonraw.Pointer(f.Pointer, name)
			p.Text = "is required"
		}
		problems = append(problems, p)
	}
	return problems
}

// appendFormatProblems appends the texts in a value, which is at a JSON pointer, that are not in the format of their
// field.
func appendFormatProblems(problems []problem, s schema.Schema, value json.RawMessage, pointer string) []problem {
	members, err := jsonraw.Object(value)
	if err != nil {
		return problems
	}
	for _, property := range s.Properties() {
		member := members.Value(property.Name)
		at := jsonraw.Pointer(pointer, property.Name)
		text, isText := jsonraw.Text(member)
		if !isText {
			problems = appendFormatProblems(problems, property.Schema, member, at)
			continue
		}
		field := question.ParseField(property.Name, property.Schema.Raw)
		if field.Kind != question.Text {
			continue
		}
		if _, err := field.ParseTyped(text, false); err != nil { // options are not numbered
			problems = append(problems, problem{at, err.Error()})
		}
	}
	return problems
}
