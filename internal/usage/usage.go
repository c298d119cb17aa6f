// Package usage has the errors of a command line, and makes outcomes of them.
package usage

import (
	"errors"
	"fmt"
	"os"

	"mcpc/internal/wire"
)

func LocalIO(doing string, err error) wire.Outcome {
	return wire.Outcome{Kind: wire.LocalIO, Text: doing + ": " + err.Error(), Err: err, Phase: "output"}
}

// Outcome returns the ending of a command with a usage error.
func Outcome(err error) wire.Outcome {
	o := wire.Outcome{Kind: wire.Usage, Text: err.Error(), Phase: "arguments"}
	if with, ok := err.(interface{ Hint() wire.Hint }); ok {
		o.Hint = with.Hint()
	}
	if with, ok := errors.AsType[Error](err); ok {
		o.Hint = with.Hint
	}
	if several, ok := errors.AsType[*Errors](err); ok {
		o.Findings, o.Hint = several.Findings, several.Hint
	}
	if IsLate(err) {
		o.Kind, o.Hint = wire.Timeout, "--max-time TIME waits longer"
	}
	if typed, ok := errors.AsType[*JSONError](err); ok {
		o.Hint, o.Input = typed.Hint, &typed.Facts
	}
	return o
}

// A Errors is a usage error of several things.
type Errors struct {
	Text     string
	Hint     wire.Hint
	Findings []wire.Finding
}

func (e *Errors) Error() string { return e.Text }

// A Error is a usage error with a way out.
type Error struct {
	text string
	Hint wire.Hint
}

// New is a usage error with a way out.
func New(text string, hint wire.Hint) error { return Error{text: text, Hint: hint} }

func (e Error) Error() string { return e.text }

// An JSONError is typed JSON that is none, and where it goes wrong.
type JSONError struct {
	Text  string
	Hint  wire.Hint
	Facts wire.InputFacts
}

func (e *JSONError) Error() string { return e.Text }

// NotRead is the error of an input that could not be read, with a way out.
func NotRead(what string, err error, hint string) error {
	if IsLate(err) {
		return fmt.Errorf("%s: %w", what, err) // usage has the way out of that
	}
	return New(what+": "+Bare(err).Error(), wire.Hint(hint))
}

func IsLate(err error) bool {
	_, late := errors.AsType[Late](err)
	return late
}

// Bare returns an error of the operating system without the name of the file, which
// may be a temporary one that the user never typed.
func Bare(err error) error {
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return failed.Err
	}
	if failed, ok := errors.AsType[*os.LinkError](err); ok {
		return failed.Err
	}
	return err
}

// Late is the cause of a context whose timer ended a login; it says which one.
type Late string

func (l Late) Error() string { return string(l) }
