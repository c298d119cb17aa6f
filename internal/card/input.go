package card

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"mcpc/internal/jsonraw"
)

// An Input is a value that the user provides: an argument, a variable, a header field, or a part of
// these.
type Input struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"`
	Format      string   `json:"format,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Required    bool     `json:"required"`
	Secret      bool     `json:"secret"`
}

// Values are the sources of input values, in addition to fixed values and defaults.
type Values struct {
	// Given are the values of --input, by the name of the input.
	Given map[string][]string
	// Env returns the value of the environment variable for an input, or "". It may be nil.
	Env func(id string) string
	// Ask asks the user for a required input without a value. If it is nil, the plan refers to the
	// input.
	Ask func(Input) (string, error)
}

// A filler resolves the inputs of one server. It never writes the value of a secret but a reference
// to its input, which is replaced when the server is used.
type filler struct {
	Values
	used map[string]bool
	// unset are the optional inputs without a value.
	unset      []string
	references []Input
	// size is the length of the values of variables in all texts.
	size int
	err  error
}

// Limits of a document.
const (
	maxInputs    = 100
	maxArguments = 500
	maxTextSize  = 256 << 10
)

// fail keeps the first error.
func (f *filler) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// referencePrefix begins the reference to an input, in the notation of configuration files.
const referencePrefix = "${input:"

// reference returns the reference to an input.
func reference(id string) string { return referencePrefix + id + "}" }

var inputID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`) })

// readInput parses the members that all kinds of inputs have.
func (f *filler) readInput(id string, m jsonraw.Members) Input {
	in := Input{
		ID:          id,
		Description: m.Text("description"),
		Default:     plainText(m.Value("default")),
		Format:      m.Text("format"),
		Choices:     stringItems(m.Value("choices")),
		Required:    string(memberByName(m, "isRequired")) == "true",
		Secret:      string(memberByName(m, "isSecret")) == "true",
	}
	if in.Secret && in.Default != "" {
		f.fail(refused("the secret input %q has a default, so that its value is public", id))
	}
	return in
}

// plainText returns a text, or a number or boolean as text: existing files have both.
func plainText(raw []byte) string {
	if s, ok := jsonraw.Text(jsonraw.OrNull(raw)); ok {
		return s
	}
	if s := string(raw); s == "true" || s == "false" || jsonraw.IsNumber(raw) {
		return s
	}
	return ""
}

// inputValues returns the values of an input: several for a repeated argument, nil if it has no
// value.
func (f *filler) inputValues(id string, m jsonraw.Members) []string {
	if f.err != nil {
		return nil
	}
	in := f.readInput(id, m)
	fixed := m.Value("value")
	if fixed == nil || string(fixed) == "null" {
		isRepeated := string(memberByName(m, "isRepeated")) == "true" // or is_repeated, in an older file
		return f.variableValues(in, isRepeated)
	}
	value, ok := f.expandVariables(plainText(fixed), m.Value("variables"))
	if ok && in.Secret && value != "" && !strings.Contains(value, referencePrefix) {
		f.fail(refused("the secret input %q has a fixed value, which is public", id))
	}
	if !ok {
		return nil
	}
	return []string{value}
}

// variableValues returns the values of an input that is not fixed: from --input, the environment,
// its default, or the user. It returns a reference in place of a secret, and nil for an optional
// input without a value. mayRepeat is set if the input may have several values.
func (f *filler) variableValues(in Input, mayRepeat bool) []string {
	if !inputID().MatchString(in.ID) {
		f.fail(refused("an input is named %q; names have letters, digits, dots, dashes and underscores", in.ID))
		return nil
	}
	f.used[in.ID] = true
	if len(f.used) > maxInputs {
		f.fail(refused("it has more than %d inputs", maxInputs))
		return nil
	}
	values, isGiven := f.Given[in.ID]
	if !isGiven && f.Env != nil {
		if value := f.Env(in.ID); value != "" {
			values = []string{value}
			isGiven = true
		}
	}
	// The plan never has the value of a secret. It also refers to an input that cannot be asked for now.
	isMissing := !isGiven && in.Required
	cannotAsk := f.Ask == nil && in.Default == ""
	needsReference := isGiven && in.Secret || isMissing && (in.Secret || cannotAsk)
	switch {
	case len(values) > 1 && (!mayRepeat || in.Secret):
		f.fail(malformed("the input %q has one value, not %d", in.ID, len(values)))
	case needsReference:
		f.addReference(in)
		return []string{reference(in.ID)}
	case isGiven: // its values are checked below
	case in.Default != "":
		values = []string{in.Default}
	case in.Required:
		value, err := f.Ask(in)
		if err != nil {
			f.fail(err)
		}
		f.Given[in.ID] = []string{value} // the input may occur again
		values = []string{value}
	default:
		if !slices.Contains(f.unset, in.ID) {
			f.unset = append(f.unset, in.ID)
		}
		return nil
	}
	for _, value := range values {
		if err := in.check(value); f.err == nil {
			f.err = err
		}
	}
	return values
}

// addReference notes an input whose value is needed when the server is used.
func (f *filler) addReference(in Input) {
	if i := slices.IndexFunc(f.references, func(other Input) bool { return other.ID == in.ID }); i < 0 {
		f.references = append(f.references, in)
	} else {
		f.references[i].Secret = f.references[i].Secret || in.Secret
	}
}

// check returns an error if a value is not one of the input's choices or not of its format.
func (in Input) check(value string) error {
	_, numberErr := strconv.ParseFloat(value, 64)
	if len(in.Choices) > 0 && !slices.Contains(in.Choices, value) {
		return malformed("the input %q must be one of %s", in.ID, strings.Join(in.Choices, ", "))
	}
	if in.Format == "number" && numberErr != nil {
		return malformed("the input %q must be a number", in.ID)
	}
	if in.Format == "boolean" && value != "true" && value != "false" {
		return malformed("the input %q must be true or false", in.ID)
	}
	return nil
}

// expandVariables returns text with each {name} of the variables replaced by its value; other
// braces stay. It reports false if a variable has no value.
func (f *filler) expandVariables(text string, variables []byte) (string, bool) {
	defined, _ := jsonraw.Object(jsonraw.OrNull(variables))
	var b strings.Builder
	isComplete := true
	for {
		before, rest, opens := strings.Cut(text, "{")
		name, after, closes := strings.Cut(rest, "}")
		b.WriteString(before)
		if !opens || !closes {
			b.WriteString(text[len(before):])
			return b.String(), isComplete
		}
		raw, isVariable := defined.Get(name)
		if !isVariable {
			b.WriteByte('{')
			text = rest
			continue
		}
		m, _ := jsonraw.Object(raw)
		// A variable cannot contain variables.
		m = slices.DeleteFunc(slices.Clone(m), func(m jsonraw.Member) bool { return m.Name == "variables" })
		values := f.inputValues(name, m)
		if len(values) == 0 {
			isComplete = false
		} else {
			b.WriteString(values[0])
			f.size += len(values[0])
		}
		if f.size > maxTextSize {
			f.fail(refused("its texts are longer than %d KiB with their variables", maxTextSize>>10))
			return "", false
		}
		text = after
	}
}

// checkUnknownInputs returns an error if --input names an input that the server does not have.
func (f *filler) checkUnknownInputs() error {
	var known []string
	for id := range f.used {
		known = append(known, id)
	}
	slices.Sort(known)
	for id := range f.Given {
		if f.used[id] {
			continue
		}
		if known == nil {
			return malformed("--input %s: the server has no inputs", id)
		}
		return malformed("--input %s: the server has no such input; it has %s", id, strings.Join(known, ", "))
	}
	return nil
}

// checkText rejects a text with control characters, or with a reference that did not come from an
// input of the plan. what names the text in the error.
func (f *filler) checkText(what, text string) {
	for _, in := range f.references {
		text = strings.ReplaceAll(text, reference(in.ID), "")
	}
	if strings.Contains(text, referencePrefix) {
		f.fail(refused("%s contains %s, which would be replaced", what, referencePrefix))
	} else if strings.ContainsFunc(text, unicode.IsControl) {
		f.fail(refused("%s contains a control character", what))
	}
}

// A Setting is an environment variable or a header field.
type Setting struct{ Name, Value string }

// settingsWithValues returns the environment variables or header fields of a list that have a
// value. what names them in errors. It fails for names for which refuse returns true.
func (f *filler) settingsWithValues(raw []byte, what string, refuse func(name string) bool) []Setting {
	items, err := objectItems(raw)
	if err != nil {
		f.fail(err)
	}
	var all []Setting
	for _, m := range items {
		name := m.Text("name")
		if refuse(name) {
			f.fail(refused("mcpc does not set the %s %q for a card", what, name))
			continue
		}
		if values := f.inputValues(name, m); len(values) > 0 {
			f.checkText(fmt.Sprintf("the %s %s", what, name), values[0])
			all = append(all, Setting{name, values[0]})
		}
	}
	return all
}
