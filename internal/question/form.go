package question

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"sync"

	"mcpc/internal/jsonraw"
)

// A Form is the requestedSchema of an elicitation: a flat object of a few kinds
// of fields (client/elicitation, "Requested Schema").
type Form struct {
	Message string
	// Schema is the requestedSchema as received.
	Schema json.RawMessage
	Fields []Field
}

// A Kind is the type of a field's value.
type Kind int

// The kinds of fields. Choices has several of the options as its value. Other is a type that a form
// should not have; its value is any JSON.
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
	// Default is the schema's default value, or nil.
	Default json.RawMessage
	// Options are the valid values of a Choice or Choices.
	Options []Option
	// Format is the name of a format. checkFormat knows email, uri, date and date-time, and accepts any
	// text for others.
	Format string
	// Schema is the property's own schema.
	Schema json.RawMessage
}

// An Option is a valid value and its title.
type Option struct {
	Value, Title string
}

// ParseForm parses the params of elicitation/create in form mode.
func ParseForm(params json.RawMessage) (Form, error) {
	members, _ := jsonraw.Object(params)
	form := Form{Message: members.Text("message")}
	form.Schema, _ = members.Get("requestedSchema")
	if form.Schema == nil {
		return form, errors.New("the server's form has no requestedSchema")
	}
	schema, err := jsonraw.Object(form.Schema)
	if err != nil {
		excerpt := jsonraw.Excerpt(form.Schema, 40)
		return form, errors.New("the requestedSchema of the server's form is not an object: " + excerpt)
	}
	required := schema.Words("required")
	fields, _ := jsonraw.Object(schema.Value("properties"))
	for _, f := range fields {
		field := ParseField(f.Name, f.Value)
		field.Required = required[f.Name]
		form.Fields = append(form.Fields, field)
	}
	return form, nil
}

// ParseField returns the field for a property of the schema.
func ParseField(name string, schema json.RawMessage) Field {
	members, _ := jsonraw.Object(schema)
	f := Field{
		Name: name, Title: members.Text("title"), Description: members.Text("description"),
		Format: members.Text("format"), Kind: Other, Schema: schema,
	}
	f.Default, _ = members.Get("default")
	switch members.Text("type") {
	case "string":
		f.Kind = Text
		f.Options = parseOptions(members, "oneOf")
		if f.Options != nil {
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
		f.Options = parseOptions(items, "anyOf")
		if f.Options != nil {
			f.Kind = Choices
		}
	}
	return f
}

// parseOptions returns the options of a field: the values of an enum, possibly with titles in enumNames
// (2025-06-18), and the constants with titles in the array keyword, oneOf or anyOf.
func parseOptions(schema jsonraw.Members, keyword string) []Option {
	var options []Option
	values, _ := jsonraw.Array(schema.Value("enum"))
	names, _ := jsonraw.Array(schema.Value("enumNames"))
	for i, value := range values {
		text, _ := jsonraw.Text(value)
		option := Option{Value: text, Title: text}
		if len(names) == len(values) {
			option.Title, _ = jsonraw.Text(names[i])
		}
		options = append(options, option)
	}
	constants, _ := jsonraw.Array(schema.Value(keyword))
	for _, item := range constants {
		members, _ := jsonraw.Object(item)
		option := Option{Value: members.Text("const"), Title: members.Text("title")}
		if option.Title == "" {
			option.Title = option.Value
		}
		options = append(options, option)
	}
	return options
}

// Field returns the field with a name.
func (f Form) Field(name string) (Field, bool) {
	i := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return f.Fields[i], true
}

// Label returns the title of the field, or its name.
func (f Field) Label() string {
	if f.Title == "" {
		return f.Name
	}
	return f.Title
}

// secretWords matches names of values that no server may request in a form (client/elicitation,
// "Security Considerations").
var secretWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)pass(word|wd|phrase|code)|secret|token|api[-_ ]?key|private[-_ ]?key|credential|` +
		`card[-_ ]?(number|no)|\bcv[vc]\b|\bpin\b`)
})

// IsSecret reports whether the field's name or title looks like a secret's.
func (f Field) IsSecret() bool {
	return secretWords().MatchString(f.Name) || secretWords().MatchString(f.Title)
}

// A unit is what a limit counts, as it follows the number 1 and other numbers. The zero value is for
// limits of a number itself.
type unit struct{ one, many string }

var characters = unit{one: " character", many: " characters"}

// countText returns "1 character" or "2 characters".
func countText(n json.RawMessage, u unit) string {
	if string(n) == "1" {
		return string(n) + u.one
	}
	return string(n) + u.many
}

// Limits describes the valid lengths, values or numbers of options, and the format, or returns "".
func (f Field) Limits() string {
	members, _ := jsonraw.Object(f.Schema)
	switch f.Kind {
	case Number, Integer:
		return rangeText(members.Value("minimum"), members.Value("maximum"), unit{})
	case Choices:
		return rangeText(members.Value("minItems"), members.Value("maxItems"), unit{})
	case Text:
		limits := rangeText(members.Value("minLength"), members.Value("maxLength"), characters)
		if f.Format != "" && limits != "" {
			return f.Format + ", " + limits
		}
		return f.Format + limits
	}
	return ""
}

// The limits of the integers that a float64 has exactly. Generators of schemas declare them for any integer.
const (
	leastExact = "-9007199254740991"
	mostExact  = "9007199254740991"
)

// rangeText describes the range from low to high. Either may be nil.
func rangeText(low, high json.RawMessage, u unit) string {
	if string(low) == leastExact {
		low = nil
	}
	if string(high) == mostExact {
		high = nil
	}
	if low != nil && high != nil {
		return string(low) + " to " + string(high) + u.many
	}
	if low != nil {
		return "at least " + countText(low, u)
	}
	if high != nil {
		return "at most " + countText(high, u)
	}
	return ""
}
