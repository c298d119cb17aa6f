// Package usage has the errors of a command line, and turns them into outcomes.
package usage

import (
	"errors"
	"fmt"
	"os"

	"mcpc/internal/wire"
)

// LocalIO returns the outcome of a failed local operation.
func LocalIO(doing string, err error) wire.Outcome {
	return wire.Outcome{Kind: wire.LocalIO, Text: doing + ": " + err.Error(), Err: err, Phase: "output"}
}

// Outcome returns the outcome of a command with a usage error. Its kind is Timeout if the error is a
// Late: an input could not be read in time.
func Outcome(err error) wire.Outcome {
	o := wire.Outcome{Kind: wire.Usage, Text: err.Error(), Phase: "arguments"}
	if hinted, ok := err.(interface{ Hint() wire.Hint }); ok {
		o.Hint = hinted.Hint()
	}
	if failure, ok := errors.AsType[Error](err); ok {
		o.Hint = failure.Hint
	}
	if several, ok := errors.AsType[*Errors](err); ok {
		o.Findings = several.Findings
		o.Hint = several.Hint
	}
	if IsLate(err) {
		o.Kind = wire.Timeout
		o.Hint = "--max-time TIME waits longer"
	}
	if invalid, ok := errors.AsType[*JSONError](err); ok {
		o.Hint = invalid.Hint
		o.Input = &invalid.Facts
	}
	return o
}

// Errors is a usage error with several findings.
type Errors struct {
	Text     string
	Hint     wire.Hint
	Findings []wire.Finding
}

func (e *Errors) Error() string { return e.Text }

// Error is a usage error with a hint.
type Error struct {
	text string
	Hint wire.Hint
}

// New returns a usage error with a hint.
func New(text string, hint wire.Hint) error { return Error{text: text, Hint: hint} }

func (e Error) Error() string { return e.text }

// JSONError means that JSON from the command line is invalid, and has the place.
type JSONError struct {
	Text  string
	Hint  wire.Hint
	Facts wire.InputFacts
}

func (e *JSONError) Error() string { return e.Text }

// NotRead returns the error for an input that could not be read, with a hint.
func NotRead(what string, err error, hint string) error {
	if IsLate(err) {
		return fmt.Errorf("%s: %w", what, err) // Outcome has the hint
	}
	return New(what+": "+Bare(err).Error(), wire.Hint(hint))
}

// IsLate reports whether err is a Late: an input could not be read in time.
func IsLate(err error) bool {
	_, late := errors.AsType[Late](err)
	return late
}

// Bare returns an error of the operating system without the name of the file, which may be a
// temporary file that the user never typed.
func Bare(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return failed.Err
	}
	return err
}

// Late is the error for an input that could not be read in time.
type Late string

func (l Late) Error() string { return string(l) }
