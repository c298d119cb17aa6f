package validate

import (
	"fmt"
)

// A Reason is the kind of an Error.
type Reason string

// The reasons. Callers decide by the reason; an error's text is for people.
const (
	// NotJSON means that the schema or the value is not a single JSON value.
	NotJSON Reason = "not_json"
	// NotASchema means that the schema violates its dialect, as in "type":"objekt".
	NotASchema Reason = "not_a_schema"
	// UnknownDialect means that $schema names an unsupported dialect.
	UnknownDialect Reason = "unknown_dialect"
	// ExternalRef means that a reference leaves the document. It is not followed.
	ExternalRef Reason = "external_ref"
	// UnresolvedRef means that a reference has no target in the document.
	UnresolvedRef Reason = "unresolved_ref"
	// TooComplex means that compiling or checking would cost too much.
	TooComplex Reason = "too_complex"
	// Crashed means that the schema library panicked.
	Crashed Reason = "crashed"
)

// An Error says why a schema is unusable, or unusable for a value.
type Error struct {
	Reason Reason
	// Where is a JSON pointer into the schema; "" is the whole schema.
	Where string
	// Text is one sentence that needs no context.
	Text string
}

func (e *Error) Error() string { return e.Text }

// IsOfPart reports whether only a part of the schema is invalid and the rest can be read.
func (e *Error) IsOfPart() bool {
	switch e.Reason {
	case NotASchema, UnknownDialect, ExternalRef, UnresolvedRef:
		return true
	case NotJSON, TooComplex, Crashed:
		return false
	}
	return false
}

// tooComplex returns the error for a schema with an expensive part at where, a JSON pointer.
func tooComplex(where, format string, args ...any) error {
	text := "schema too complex: " + fmt.Sprintf(format, args...)
	if where != "" {
		text += " (at " + brief(where) + ")"
	}
	return &Error{Reason: TooComplex, Where: where, Text: text}
}

// guard calls a function of the library and turns a panic into an error. The library panics on some
// hostile schemas, for example on a number that big.Rat rejects. The limits exclude the known
// cases; an unknown one must not end the process, which may be a proxy with other users' traffic.
func guard(run func() error) (err error) {
	defer func() {
		r := recover()
		if fault, ok := r.(*Error); ok {
			err = fault // the budget was spent
		} else if r != nil {
			err = &Error{
				Reason: Crashed,
				Text:   fmt.Sprintf("the schema library failed on this schema: %v", r),
			}
		}
	}()
	return run()
}
