package validate

import (
	"fmt"
)

// A Reason names why there is no answer.
type Reason string

// The reasons. The text beside them is for people, and callers decide by these.
const (
	// NotJSON: the schema, or the value, is not one JSON value.
	NotJSON Reason = "not_json"
	// NotASchema: it breaks the rules of its dialect, as in "type":"objekt".
	NotASchema Reason = "not_a_schema"
	// UnknownDialect: $schema names something that is not supported.
	UnknownDialect Reason = "unknown_dialect"
	// ExternalRef: a reference leads out of the document; it was not followed.
	ExternalRef Reason = "external_ref"
	// UnresolvedRef: a reference leads to nothing inside of the document.
	UnresolvedRef Reason = "unresolved_ref"
	// TooComplex: compiling or checking would cost more than is allowed.
	TooComplex Reason = "too_complex"
	// Crashed: the schema library panicked.
	Crashed Reason = "crashed"
)

// An Error says why a schema could not be used, or not on this value.
type Error struct {
	Reason Reason
	// Where is a JSON pointer into the schema; "" is all of it.
	Where string
	// Text is one sentence that needs no context.
	Text string
}

func (e *Error) Error() string { return e.Text }

// IsOfPart reports that a part of the schema is at fault, or not known, and that the rest of it may be read.
func (e *Error) IsOfPart() bool {
	switch e.Reason {
	case NotASchema, UnknownDialect, ExternalRef, UnresolvedRef:
		return true
	case NotJSON, TooComplex, Crashed:
		return false
	}
	return false
}

// tooComplex refuses a schema because of what is at where, a JSON pointer.
func tooComplex(where, format string, args ...any) error {
	text := "schema too complex: " + fmt.Sprintf(format, args...)
	if where != "" {
		text += " (at " + brief(where) + ")"
	}
	return &Error{Reason: TooComplex, Where: where, Text: text}
}

// guard runs a part of the library. It is built for schemas whose author means
// well and ends in a panic on some others (a number that big.Rat refuses, for
// one). The bounds keep the known ones away; an unknown one
// must cost the answer, not the process, which may be a proxy in the middle of
// other people's traffic.
func guard(run func() error) (err error) {
	defer func() {
		r := recover()
		if fault, ok := r.(*Error); ok {
			err = fault // the budget is spent
		} else if r != nil {
			err = &Error{
				Reason: Crashed,
				Text:   fmt.Sprintf("the schema library failed on this schema: %v", r),
			}
		}
	}()
	return run()
}
