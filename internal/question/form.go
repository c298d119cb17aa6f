package question

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
)

// A Form is the requestedSchema of an elicitation: a flat object of a few kinds
// of fields (client/elicitation, "Requested Schema").
type Form struct {
	Message string
	// Schema is the requestedSchema as it crossed.
	Schema json.RawMessage
	Fields []Field
}

// A Kind is what is to be typed into a field.
type Kind int

// The kinds of fields. Choices takes several of its options; Other is a shape
// that a form should not have, and takes JSON.
const (
	Text Kind = iota
	Number
	Integer
	Boolean
	Choice
	Choices
	Other
)

// A Field is one property of a form.
type Field struct {
	Name, Title, Description string
	Kind                     Kind
	Required                 bool
	// Default is the schema's default value; nil where there is none.
	Default json.RawMessage
	// Options are what a Choice or Choices may be.
	Options []Option
	// Format is email, uri, date or date-time; other names mean nothing.
	Format string
	// Schema is the property's own schema.
	Schema json.RawMessage
}

// An Option is a value to choose and what it is called.
type Option struct {
	Value, Title string
}

// ParseForm reads the params of elicitation/create in form mode.
func ParseForm(params json.RawMessage) (Form, error) {
	members, _ := jsonraw.Object(params)
	form := Form{Message: members.Text("message")}
	form.Schema, _ = members.Get("requestedSchema")
	schema, err := jsonraw.Object(form.Schema)
	switch {
	case form.Schema == nil:
		return form, errors.New("the server's form has no requestedSchema")
	case err != nil:
		return form, errors.New("the requestedSchema of the server's form is not an object: " + jsonraw.Excerpt(form.Schema, 40))
	}
	required := schema.Words("required")
	fields, _ := jsonraw.Object(schema.Value("properties"))
	for _, f := range fields {
		field := parseField(f.Name, f.Value)
		field.Required = required[f.Name]
		form.Fields = append(form.Fields, field)
	}
	return form, nil
}

func parseField(name string, schema json.RawMessage) Field {
	members, _ := jsonraw.Object(schema)
	f := Field{Name: name, Title: members.Text("title"), Description: members.Text("description"),
		Format: members.Text("format"), Kind: Other, Schema: schema}
	f.Default, _ = members.Get("default")
	switch members.Text("type") {
	case "string":
		f.Kind = Text
		if f.Options = options(members, "oneOf"); f.Options != nil {
			f.Kind = Choice
		}
	case "number":
		f.Kind = Number
	case "integer":
		f.Kind = Integer
	case "boolean":
		f.Kind = Boolean
	case "array":
		items, _ := jsonraw.Object(members.Value("items"))
		if f.Options = options(items, "anyOf"); f.Options != nil {
			f.Kind = Choices
		}
	}
	return f
}

// options reads the two ways to name what may be chosen: a plain enum, perhaps
// with the enumNames of 2025-06-18, and constants with titles.
func options(schema jsonraw.Members, titled string) (all []Option) {
	values, _ := jsonraw.Array(schema.Value("enum"))
	names, _ := jsonraw.Array(schema.Value("enumNames"))
	for i, value := range values {
		text, _ := jsonraw.Text(value)
		o := Option{Value: text, Title: text}
		if len(names) == len(values) {
			o.Title, _ = jsonraw.Text(names[i])
		}
		all = append(all, o)
	}
	constants, _ := jsonraw.Array(schema.Value(titled))
	for _, item := range constants {
		members, _ := jsonraw.Object(item)
		value := members.Text("const")
		all = append(all, Option{Value: value, Title: cmp.Or(members.Text("title"), value)})
	}
	return all
}

// Field gives the field of that name.
func (f Form) Field(name string) (Field, bool) {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return f.Fields[i], true
}

// Label is what a person is asked for.
func (f Field) Label() string { return cmp.Or(f.Title, f.Name) }

// secretWords are names of what no server may ask for in a form (client/
// elicitation, "Security Considerations").
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)pass(word|wd|phrase|code)|secret|token|api[-_ ]?key|private[-_ ]?key|credential|card[-_ ]?(number|no)|\bcv[vc]\b|\bpin\b`)
})

// Secret reports a field that looks as if it asked for a secret.
func (f Field) Secret() bool {
	return secretWords().MatchString(f.Name) || secretWords().MatchString(f.Title)
}

// counted is a number of things: "1 character", "2 characters".
func counted(n json.RawMessage, unit string) string {
	if string(n) == "1" {
		unit = strings.TrimSuffix(unit, "s")
	}
	return string(n) + unit
}

// Limits says in a few words how long, how large or how many.
func (f Field) Limits() string {
	members, _ := jsonraw.Object(f.Schema)
	span := func(low, high, unit string) string {
		from, to := members.Value(low), members.Value(high)
		switch {
		case from != nil && to != nil:
			return string(from) + " to " + string(to) + unit
		case from != nil:
			return "at least " + counted(from, unit)
		case to != nil:
			return "at most " + counted(to, unit)
		}
		return ""
	}
	switch f.Kind {
	case Number, Integer:
		return span("minimum", "maximum", "")
	case Choices:
		return span("minItems", "maxItems", "")
	case Text:
		if limits := span("minLength", "maxLength", " characters"); f.Format != "" && limits != "" {
			return f.Format + ", " + limits
		} else if limits != "" {
			return limits
		}
		return f.Format
	}
	return ""
}
