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

// An Input is a value that the user gives: for an argument, a variable, a header field, or a
// part of one of them.
type Input struct {
	ID          string   `json:"id"`
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"`
	Format      string   `json:"format,omitempty"`
	Choices     []string `json:"choices,omitempty"`
	Required    bool     `json:"required"`
	Secret      bool     `json:"secret"`
}

// Values are where the values of inputs come from, besides fixed ones and defaults.
type Values struct {
	// Given are those of --input, by the name of the input.
	Given map[string][]string
	// Env returns the value of the variable that stands for an input; nil or "" is none.
	Env func(id string) string
	// Ask asks for an input that is required and has no value. Without it a reference stays.
	Ask func(Input) (string, error)
}

// A filler gives inputs their values. The value of a secret is never written: a reference to its
// input is, which is replaced when the server is used.
type filler struct {
	Values
	used map[string]bool
	// unset are the inputs without a value that are optional.
	unset []string
	refs  []Input
	// size is the length of all texts with variables.
	size int
	err  error
}

// What a document may have of each.
const (
	mostInputs    = 100
	mostArguments = 500
	mostText      = 256 << 10
)

func (f *filler) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// mark begins the reference to an input, in the notation of the servers' configurations.
const mark = "${input:"

func reference(id string) string { return mark + id + "}" }

var inputID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`) })

// readInput reads the members that every kind of input has.
func (f *filler) readInput(id string, m jsonraw.Members) Input {
	in := Input{
		ID:          id,
		Description: m.Text("description"),
		Default:     plain(m.Value("default")),
		Format:      m.Text("format"),
		Choices:     texts(m.Value("choices")),
		Required:    string(member(m, "isRequired")) == "true",
		Secret:      string(member(m, "isSecret")) == "true",
	}
	if in.Secret && in.Default != "" {
		f.fail(refused("the secret input %q has a default, so that its value is public", id))
	}
	return in
}

// plain returns a string, or a number or boolean as its text: files in circulation have both.
func plain(raw []byte) string {
	if s, ok := jsonraw.Text(jsonraw.OrNull(raw)); ok {
		return s
	}
	if s := string(raw); s == "true" || s == "false" || jsonraw.IsNumber(raw) {
		return s
	}
	return ""
}

// values returns the values of an input: several for a repeated argument, none where it is
// left out.
func (f *filler) values(id string, m jsonraw.Members) []string {
	if f.err != nil {
		return nil
	}
	in := f.readInput(id, m)
	fixed := m.Value("value")
	if fixed == nil || string(fixed) == "null" {
		return f.ask(in, string(member(m, "isRepeated")) == "true")
	}
	value, ok := f.expanded(plain(fixed), m.Value("variables"))
	if ok && in.Secret && value != "" && !strings.Contains(value, mark) {
		f.fail(refused("the secret input %q has a fixed value, which is public", id))
	}
	if !ok {
		return nil
	}
	return []string{value}
}

// ask returns the values of an input that is not fixed: of --input, of the environment, its
// default, or what the user types.
func (f *filler) ask(in Input, repeated bool) []string {
	if !inputID().MatchString(in.ID) {
		f.fail(refused("an input is named %q; names have letters, digits, dots, dashes and underscores", in.ID))
		return nil
	}
	f.used[in.ID] = true
	if len(f.used) > mostInputs {
		f.fail(refused("it has more than %d inputs", mostInputs))
		return nil
	}
	values, given := f.Given[in.ID]
	if !given && f.Env != nil {
		if value := f.Env(in.ID); value != "" {
			values = []string{value}
			given = true
		}
	}
	switch {
	case len(values) > 1 && (!repeated || in.Secret):
		f.fail(malformed("the input %q has one value, not %d", in.ID, len(values)))
	case given && in.Secret, !given && in.Required && (in.Secret || f.Ask == nil && in.Default == ""):
		f.refer(in)
		return []string{reference(in.ID)}
	case given:
	case in.Default != "":
		values = []string{in.Default}
	case in.Required:
		value, err := f.Ask(in)
		if err != nil {
			f.fail(err)
		}
		f.Given[in.ID] = []string{value} // it may occur again
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

// refer notes an input that is asked for when the server is used.
func (f *filler) refer(in Input) {
	if i := slices.IndexFunc(f.refs, func(other Input) bool { return other.ID == in.ID }); i < 0 {
		f.refs = append(f.refs, in)
	} else {
		f.refs[i].Secret = f.refs[i].Secret || in.Secret
	}
}

// check holds a value against the format of its input.
func (in Input) check(value string) error {
	_, bad := strconv.ParseFloat(value, 64)
	if len(in.Choices) > 0 && !slices.Contains(in.Choices, value) {
		return malformed("the input %q must be one of %s", in.ID, strings.Join(in.Choices, ", "))
	}
	if in.Format == "number" && bad != nil {
		return malformed("the input %q must be a number", in.ID)
	}
	if in.Format == "boolean" && value != "true" && value != "false" {
		return malformed("the input %q must be true or false", in.ID)
	}
	return nil
}

// expanded replaces each {name} of the variables; other braces stay. It reports false where one
// of the variables is left out.
func (f *filler) expanded(text string, variables []byte) (string, bool) {
	defined, _ := jsonraw.Object(jsonraw.OrNull(variables))
	var b strings.Builder
	whole := true
	for {
		before, rest, open := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		b.WriteString(before)
		if !open || !closed {
			b.WriteString(text[len(before):])
			return b.String(), whole
		}
		raw, isVariable := defined.Get(name)
		if !isVariable {
			b.WriteByte('{')
			text = rest
			continue
		}
		m, _ := jsonraw.Object(raw)
		m = slices.DeleteFunc(
			slices.Clone(m),
			func(m jsonraw.Member) bool { return m.Name == "variables" },
		) // variables have none
		values := f.values(name, m)
		if len(values) == 0 {
			whole = false
		} else {
			b.WriteString(values[0])
			f.size += len(values[0])
		}
		if f.size > mostText {
			f.fail(refused("its texts are longer than %d KiB with their variables", mostText>>10))
			return "", false
		}
		text = after
	}
}

// unknown returns the error of a value that belongs to no input.
func (f *filler) unknown() error {
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

// checkText refuses a text that is not what it seems: with control characters, or with what would
// be taken for a reference. text has references of its own only where they are in refs.
func (f *filler) checkText(what, text string) {
	for _, in := range f.refs {
		text = strings.ReplaceAll(text, reference(in.ID), "")
	}
	if strings.Contains(text, mark) {
		f.fail(refused("%s contains %s, which would be replaced", what, mark))
	} else if strings.ContainsFunc(text, unicode.IsControl) {
		f.fail(refused("%s contains a control character", what))
	}
}

// A Setting is a variable of the environment or a header field.
type Setting struct{ Name, Value string }

// settings returns the variables or header fields of a list that have a value.
func (f *filler) settings(raw []byte, what string, refuse func(name string) bool) (all []Setting) {
	items, err := objects(raw)
	if err != nil {
		f.fail(err)
	}
	for _, m := range items {
		name := m.Text("name")
		if refuse(name) {
			f.fail(refused("mcpc does not set the %s %q for a card", what, name))
			continue
		}
		if values := f.values(name, m); len(values) > 0 {
			f.checkText(fmt.Sprintf("the %s %s", what, name), values[0])
			all = append(all, Setting{name, values[0]})
		}
	}
	return all
}
