package state

import (
	"errors"
	"fmt"
	"io/fs"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A Reason says why the state could not be used. A command that only wanted to store something
// continues without the state; a command that needs the state fails with exit code 13.
type Reason string

// The reasons.
const (
	// NoHome means that there is no directory for the state.
	NoHome Reason = "no_home"
	// Unreadable and Unwritable mean that the operating system refused, or that the disk is full.
	// The earlier contents are intact.
	Unreadable Reason = "unreadable"
	Unwritable Reason = "unwritable"
	// Unsafe means a symbolic link, a file or directory of another user, or a directory that others
	// can write to.
	Unsafe Reason = "unsafe"
	// Damaged means that state.json exists and cannot be parsed.
	Damaged Reason = "damaged"
	// Newer means that a newer mcpc wrote state.json. It can be read but not written.
	Newer Reason = "newer"
	// Locked means that another process held the lock for longer than mcpc waits.
	Locked Reason = "locked"
	// Gone means that the session was closed or replaced, or that its request ids are lost, so that
	// it cannot be continued.
	Gone Reason = "gone"
)

// An Error is an error about the state itself. Its text is one sentence and contains no session id.
type Error struct {
	Reason Reason
	// Path is the file or directory. It is empty for Gone.
	Path string
	// PID is the process that holds the lock if Reason is Locked, or 0 if that is unknown.
	PID int
	// Err is the operating system's error, or nil.
	Err error

	what string // the rest of the sentence, after the path
	hint wire.Hint
}

// Error returns the text.
func (e *Error) Error() string {
	switch e.Reason {
	case Unreadable:
		return fmt.Sprintf("reading state %s: %v", e.Path, withoutPath(e.Err))
	case Unwritable:
		return fmt.Sprintf("writing state %s: %v", e.Path, withoutPath(e.Err))
	case NoHome, Gone:
		return e.what
	default:
		return fmt.Sprintf("state %s %s", e.Path, e.what)
	}
}

// Hint returns what the user can do, without a full stop.
func (e *Error) Hint() wire.Hint {
	if e.hint != "" {
		return e.hint
	}
	switch e.Reason {
	case Newer:
		return "use the newer mcpc, or keep other state with --state DIR"
	case Locked:
		return "wait for that process or end it, then try again"
	case Gone:
		return wire.Run("sessions") + " shows what is open, " + wire.Run("init") + " opens a new session"
	default:
		return "keep state elsewhere with --state DIR or MCPC_STATE"
	}
}

// Unwrap returns the operating system's error, or nil.
func (e *Error) Unwrap() error { return e.Err }

// IsReason reports whether err is, or wraps, an Error with that reason.
func IsReason(err error, r Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == r
}

// withoutPath returns err without the operation and path that package os adds: the sentence already
// has the path.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// unsafePath returns the error for a path that another user could control.
func unsafePath(path, what string, hint wire.Hint) *Error {
	return &Error{Reason: Unsafe, Path: path, what: "is not safe to use: " + what, hint: hint}
}

// damagedFile returns the error for a damaged file that the user can delete.
func damagedFile(path string, why error) *Error {
	return &Error{Reason: Damaged, Path: path, what: "is damaged: " + why.Error(), hint: wire.Hint("rm " + quoted(path))}
}

// goneSession returns the error for a session that cannot be continued.
func goneSession(name, why string) *Error {
	return &Error{Reason: Gone, what: fmt.Sprintf("session %q %s", name, why)}
}

// quoted returns s as one word of a shell.
func quoted(s string) string { return shellwords.Quote(s) }
