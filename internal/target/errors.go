package target

import (
	"fmt"

	"mcpc/internal/wire"
)

// An Error describes the fault of a target in one sentence, and has what to type instead. It names
// the part and quotes nothing that may be a secret.
type Error struct {
	// Part is the wrong part: "target", "command", "name", or the part of a URL: "url", "scheme",
	// "userinfo", "host", "port", "path", "query", "fragment".
	Part   string
	Source Source

	what string
	hint wire.Hint
}

func (e *Error) Error() string { return e.Source.errorPrefix() + e.what }

// Hint returns what to do instead, without a full stop.
func (e *Error) Hint() wire.Hint { return e.hint }

// An UnknownError means that a name is neither a session nor a server. The caller may look in Known
// for a similar name.
type UnknownError struct {
	Name   string
	Source Source
	// Known are the valid names.
	Known []string
}

func (e *UnknownError) Error() string {
	if e.Source == FromSession {
		return fmt.Sprintf("the current session %q is not stored", e.Name)
	}
	return fmt.Sprintf("%sno server is named %q", e.Source.errorPrefix(), e.Name)
}

// Hint returns what to do instead, without a full stop.
func (e *UnknownError) Hint() wire.Hint {
	return "see " + wire.Run("sessions") + " and " + wire.Run("servers") + "; a URL starts with http:// or https://"
}

// errorPrefix returns the start of an error's sentence, which names a source that the user may have
// forgotten.
func (s Source) errorPrefix() string {
	if s == FromEnvironment {
		return "MCPC_SERVER: "
	}
	return ""
}

// urlError returns the error for a part of a URL. parseText sets its Source.
func urlError(part, what string, hint wire.Hint) *Error {
	return &Error{Part: part, what: what, hint: hint}
}

func newError(part string, source Source, what string, hint wire.Hint) *Error {
	return &Error{Part: part, Source: source, what: what, hint: hint}
}

func newUnknownError(name string, source Source, sessions []string) *UnknownError {
	known := append([]string{demoName}, sessions...)
	return &UnknownError{Name: name, Source: source, Known: known}
}
