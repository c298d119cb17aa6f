package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mcpc/internal/wire"
)

// A KeptServer says that the server of a session lives on in a process of its own.
type KeptServer struct {
	// Socket is where that process listens.
	Socket string `json:"socket"`
	// PID is that process, and Since when it was started.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Idle is how long the server lives without being used, in nanoseconds; 0 is for
	// ever.
	Idle time.Duration `json:"idle,omitempty"`
}

// The kinds of sockets: of processes that hold a server, and of commands that pass messages on.
const (
	HeldSockets = "held"
	LiveSockets = "live"
)

// maxSocket is how long the path of a socket may be everywhere (104 bytes with a NUL on BSD and macOS), less the
// suffix of its name while it is being made.
const maxSocket = 103 - len(".new")

// Socket returns the path of a socket of a kind, in a directory that only the user can look into: within the state
// directory, unless the path would be too long.
func (s *Store) Socket(kind, name string) (string, error) {
	for _, dir := range s.SocketDirs(kind) {
		path := filepath.Join(dir, name+".sock")
		if len(path) > maxSocket {
			continue
		}
		if filepath.Dir(dir) == s.dir.path {
			if err := makeDir(s.dir.path); err != nil {
				return "", err
			}
		}
		if err := makeSubdir(dir); err != nil {
			return "", err
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", &Error{Reason: Unwritable, Path: dir, Err: err}
		}
		return path, CheckHeld(path)
	}
	return "", unsafePath(s.dir.path, "its path is too long for a socket in it",
		"keep state elsewhere with --state DIR or MCPC_STATE")
}

// SocketDirs returns the directories in which sockets of a kind may be.
func (s *Store) SocketDirs(kind string) []string {
	own := fmt.Sprintf("mcpc-%d", os.Geteuid())
	return []string{s.dir.file(kind), filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own)}
}

// CheckHeld makes sure that no other user could have put the socket where it is. One that
// is not there is no error.
func CheckHeld(socket string) error {
	dir := filepath.Dir(socket)
	fi, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &Error{Reason: Unreadable, Path: dir, Err: err}
	case !fi.IsDir() || !ownedByUs(fi):
		return unsafePath(dir, "it is not a directory of yours", wire.Hint("ls -ld "+quoted(dir)))
	case fi.Mode().Perm()&0o077 != 0:
		return unsafePath(dir, "others can look into it", wire.Hint("chmod 700 "+quoted(dir)))
	}
	fi, err = os.Lstat(socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Reason: Unreadable, Path: socket, Err: err}
	}
	if fi.Mode().Type() != fs.ModeSocket || !ownedByUs(fi) {
		return unsafePath(socket, "it is not a socket of yours", wire.Hint("ls -l "+quoted(socket)))
	}
	return nil
}
