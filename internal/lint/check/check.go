// Package check has the type of the checks, and what several of them need.
package check

import (
	"slices"

	"mcpc/internal/lint/conv"
	"mcpc/internal/wire"
)

// A Check applies a rule to events of one kind.
type Check struct {
	// ID is that of the rule; "" for what only remembers, for any revision.
	ID   string
	Kind conv.Kind
	// Methods are those of the events; nil means all.
	Methods []string
	// When is false for events that the rule says nothing about; it may be nil.
	When func(*conv.Event) bool
	Do   func(*conv.Event)
	// Lacks says what the caller would have to provide, "" for most checks.
	Lacks string
	// Yields is set on a general check, which leaves alone what others reported.
	Yields bool
}

// Tools are what checks need of other packages.
type Tools struct {
	// Shape says where a message is not as a revision has it, but for entries of lists
	// that it is told to skip (package shape, CheckBut).
	Shape func(skip func(entry []byte) bool, revision, method string, m *wire.Message) []wire.Finding
	// Compile makes a checker of a JSON Schema. Warnings tell what it will not check.
	Compile func(schema []byte) (Schema, []wire.Finding, *SchemaFault)
}

// A Schema says where a value does not keep to it; an error means that it cannot tell.
type Schema interface {
	Check(value []byte) ([]wire.Finding, error)
}

// A SchemaFault is why a schema cannot be used: a short stable reason ("not_a_schema",
// "external_ref"), a JSON pointer into the schema, and a sentence.
type SchemaFault struct{ Reason, Where, Text string }

// IsOneOf reports a text that is one of several.
func IsOneOf(text string, all ...string) bool { return slices.Contains(all, text) }

// Alnum reports a letter or a digit of ASCII.
func Alnum(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

// Final reports a result that is neither a question nor a task.
func Final(e *conv.Event) bool {
	return !IsOneOf(e.Text("resultType"), "input_required", "task") && !conv.IsObject(e.Raw("task"))
}

// Continues reports a page of a list that is not the first.
func Continues(e *conv.Event) bool { return conv.Inside(e.Call.Params, "cursor") != nil }

// MostNames bounds the names of a list that are compared.
const MostNames = 10_000
