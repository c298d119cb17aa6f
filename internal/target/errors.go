package target

import (
	"fmt"

	"mcpc/internal/wire"
)

// An Error says what is wrong with a target, in one sentence, and what to type
// instead. It names the part and does not repeat what may be a secret.
type Error struct {
	// Part is what is wrong: "target", "command", "name", or the part of a URL:
	// "url", "scheme", "userinfo", "host", "port", "path", "query", "fragment".
	Part   string
	Source Source

	what string
	hint wire.Hint
}

func (e *Error) Error() string { return e.Source.errorPrefix() + e.what }

// Hint is one way out, without a full stop.
func (e *Error) Hint() wire.Hint { return e.hint }

// An UnknownError is a name that is neither a session nor a server. The caller that
// shows it may look in Known for the name that was meant.
type UnknownError struct {
	Name   string
	Source Source
	// Known are the names that would have been understood.
	Known []string
}

func (e *UnknownError) Error() string {
	if e.Source == FromSession {
		return fmt.Sprintf("the current session %q is not stored", e.Name)
	}
	return fmt.Sprintf("%sno server is named %q", e.Source.errorPrefix(), e.Name)
}

// Hint is one way out, without a full stop.
func (e *UnknownError) Hint() wire.Hint {
	return "see " + wire.Run("sessions") + " and " + wire.Run("servers") + "; a URL starts with http:// or https://"
}

// where is how an error's sentence starts when the user may not have the text
// before his eyes.
func (s Source) errorPrefix() string {
	if s == FromEnvironment {
		return "MCPC_SERVER: "
	}
	return ""
}

func newError(part string, from Source, what string, hint wire.Hint) *Error {
	return &Error{Part: part, Source: from, what: what, hint: hint}
}

func newUnknownError(name string, from Source, sessions []string) *UnknownError {
	known := append([]string{demoName}, sessions...)
	return &UnknownError{Name: name, Source: from, Known: known}
}
