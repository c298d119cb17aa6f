package state

import (
	"errors"
	"fmt"
	"io/fs"

	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A Reason says why the state could not be used. A caller that only wanted to
// remember something goes on without it, whatever the reason; one whose purpose
// was the state ends with exit code 13.
type Reason string

// The reasons.
const (
	// NoHome: there is no directory to keep state in.
	NoHome Reason = "no_home"
	// Unreadable and Unwritable: the operating system refused; Unwritable is also a full
	// disk. What was there before is still there.
	Unreadable Reason = "unreadable"
	Unwritable Reason = "unwritable"
	// Unsafe: a symbolic link, a file or directory that belongs to another
	// user, or a directory that others can write to.
	Unsafe Reason = "unsafe"
	// Damaged: state.json is there and cannot be understood.
	Damaged Reason = "damaged"
	// Newer: state.json was written by a newer mcpc; it can be read, not written.
	Newer Reason = "newer"
	// Locked: another process held the lock for longer than mcpc waits.
	Locked Reason = "locked"
	// Gone: the session was closed or replaced meanwhile, or its request ids
	// are lost, so that it cannot be gone on with.
	Gone Reason = "gone"
)

// An Error is every error of this package that is about the state itself. Its
// text is one sentence and holds no session id.
type Error struct {
	Reason Reason
	// Path is the file or directory meant; for Gone it is empty.
	Path string
	// PID is the process that holds the lock when Reason is Locked, or 0 when
	// that is not known.
	PID int
	// Err is the operating system's error, or nil.
	Err error

	what string // the rest of the sentence, after the path
	hint wire.Hint
}

func (e *Error) Error() string {
	switch e.Reason {
	case Unreadable:
		return fmt.Sprintf("reading state %s: %v", e.Path, bare(e.Err))
	case Unwritable:
		return fmt.Sprintf("writing state %s: %v", e.Path, bare(e.Err))
	case NoHome, Gone:
		return e.what
	default:
		return fmt.Sprintf("state %s %s", e.Path, e.what)
	}
}

// Hint is one way out, without a full stop.
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

func (e *Error) Unwrap() error { return e.Err }

// IsReason reports whether err is or wraps an Error with that reason.
func IsReason(err error, r Reason) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == r
}

// bare drops the operation and path that os puts around an errno: the sentence
// names the path already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func unsafePath(path, what string, hint wire.Hint) *Error {
	return &Error{Reason: Unsafe, Path: path, what: "is not safe to use: " + what, hint: hint}
}

// damagedFile is the error for a file that can be deleted to get rid of it.
func damagedFile(path string, why error) *Error {
	return &Error{Reason: Damaged, Path: path, what: "is damaged: " + why.Error(), hint: wire.Hint("rm " + quoted(path))}
}

func goneSession(name, why string) *Error {
	return &Error{Reason: Gone, what: fmt.Sprintf("session %q %s", name, why)}
}

// quoted makes s one word of a shell.
func quoted(s string) string { return shellwords.Quote(s) }
