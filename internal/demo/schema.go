package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// A schema is the part of JSON Schema that the tools of this package use. The low-level
// Server.AddTool does not check arguments. This check is independent of mcpc's validator, so that
// tests can compare the two.
type schema struct {
	Type                 string             `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *bool              `json:"additionalProperties"`
	Enum                 []string           `json:"enum"`
	Minimum              json.Number        `json:"minimum"`
	Maximum              json.Number        `json:"maximum"`
	Default              json.RawMessage    `json:"default"`

	// These fields are not rules. They are listed so that parseSchema rejects other keywords.
	Dialect     string `json:"$schema"`
	Description string `json:"description"`
	Header      string `json:"x-mcp-header"`
}

// parseSchema parses a schema of this package. It panics on keywords that [schema] does not have.
func parseSchema(text string) *schema {
	var s schema
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		panic(fmt.Sprintf("demo: schema %s: %v", text, err))
	}
	return &s
}

// arguments are the valid arguments of a tool with their defaults. Each value has the bytes that
// were received.
type arguments map[string]json.RawMessage

func (a arguments) has(name string) bool { return a[name] != nil }

func (a arguments) stringValue(name string) string {
	var s string
	_ = json.Unmarshal(a[name], &s) // checked before
	return s
}

func (a arguments) boolValue(name string) bool { return string(a[name]) == "true" }

// numberValue returns the exact value of a number, or 0 if the argument is absent.
func (a arguments) numberValue(name string) *big.Rat {
	r, err := parseDecimal(string(a[name]))
	if err != nil {
		return new(big.Rat)
	}
	return r
}

// intValue returns the value of an integer. The schema must limit it to the range of int.
func (a arguments) intValue(name string) int { return int(a.numberValue(name).Num().Int64()) }

// checkArguments parses raw and adds the defaults. It returns the problems if raw is invalid. Absent
// arguments count as an empty object.
func (s *schema) checkArguments(raw json.RawMessage) (arguments, []string) {
	args := arguments{}
	if len(raw) > 0 {
		if jsonType(raw) != "object" {
			return nil, []string{"arguments: expected object, got " + jsonType(raw)}
		}
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, []string{"arguments: " + err.Error()}
		}
	}
	problems := s.unexpectedNames(args)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		value := args[name]
		switch {
		case value != nil:
			if problem := property.valueProblem(value); problem != "" {
				problems = append(problems, name+": "+problem)
			}
		case slices.Contains(s.Required, name):
			problems = append(problems, fmt.Sprintf("%s: required %s is missing", name, property.Type))
		case property.Default != nil:
			args[name] = property.Default
		}
	}
	return args, problems
}

// unexpectedNames returns the problems for arguments that the schema does not declare and forbids.
func (s *schema) unexpectedNames(args arguments) []string {
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		return nil
	}
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if s.Properties[name] == nil {
			known := strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
			problems = append(problems, fmt.Sprintf("%s: no such argument (there is: %s)", name, known))
		}
	}
	return problems
}

// valueProblem returns why a value is invalid, or "".
func (s *schema) valueProblem(raw json.RawMessage) string {
	got := jsonType(raw)
	switch s.Type {
	case "number", "integer":
		if got != "number" {
			return "expected " + s.Type + ", got " + got
		}
		return s.numberProblem(string(raw))
	case "string":
		if got != "string" {
			return "expected string, got " + got
		}
		return s.enumProblem(raw)
	default:
		if got != s.Type {
			return "expected " + s.Type + ", got " + got
		}
		return ""
	}
}

// numberProblem returns why a number is not valid, or "".
func (s *schema) numberProblem(text string) string {
	r, err := parseDecimal(text)
	if err != nil {
		return err.Error()
	}
	if s.Type == "integer" && !r.IsInt() {
		return "expected integer, got " + text
	}
	if s.Minimum != "" && r.Cmp(exactNumber(s.Minimum)) < 0 {
		return fmt.Sprintf("must be at least %s, got %s", s.Minimum, text)
	}
	if s.Maximum != "" && r.Cmp(exactNumber(s.Maximum)) > 0 {
		return fmt.Sprintf("must be at most %s, got %s", s.Maximum, text)
	}
	return ""
}

// enumProblem returns why a string is not valid, or "".
func (s *schema) enumProblem(raw json.RawMessage) string {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err.Error()
	}
	if len(s.Enum) == 0 || slices.Contains(s.Enum, text) {
		return ""
	}
	return fmt.Sprintf("expected one of %q, got %q", s.Enum, text)
}

// jsonType returns the JSON type of a valid value.
func jsonType(raw json.RawMessage) string {
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// exactNumber returns the value of a limit in a schema of this package.
func exactNumber(n json.Number) *big.Rat {
	r, _ := new(big.Rat).SetString(n.String())
	return r
}

// maxDigits limits the numbers that decimal parses. Rat.SetString expands exponents: 1e999999999
// would use a gigabyte.
const maxDigits = 1000

var errTooLong = errors.New("more digits than this server counts")

// parseDecimal parses a JSON number exactly.
func parseDecimal(text string) (*big.Rat, error) {
	if index := strings.IndexAny(text, "eE"); index >= 0 {
		if n, err := strconv.Atoi(text[index+1:]); err != nil || max(n, -n) > maxDigits {
			return nil, errTooLong
		}
	}
	if len(text) > maxDigits {
		return nil, errTooLong
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("expected number, got %s", text)
	}
	return r, nil
}

// formatDecimal formats a number without an exponent and without rounding. The number must be a sum
// of decimals.
func formatDecimal(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return r.FloatString(digits)
}
