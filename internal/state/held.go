package state

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

const (
	heldName = "held"
	liveName = "live"
	// maxSocket is how long the path of a socket may be everywhere (104 bytes with a
	// NUL on BSD and macOS), less what a name has behind it while it is being made.
	maxSocket = 103 - len(".new")
)

// HeldSocket makes up a name for a socket in a directory that only the user can look
// into. That is within the state directory, unless the path would be too long.
func (s *Store) HeldSocket() (string, error) {
	return socketIn(s, s.HeldDirs(), strings.ToLower(rand.Text()[:13]))
}

// LiveSocket is that at which a command listens that passes messages on.
func LiveSocket(s *Store, pid int) (string, error) {
	return socketIn(s, LiveDirs(s), strconv.Itoa(pid))
}

func socketIn(s *Store, dirs []string, name string) (string, error) {
	name += ".sock"
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
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
	return "", unsafePath(s.dir.path, "its path is too long for a socket in it", "keep state elsewhere with --state DIR or MCPC_STATE")
}

// HeldDirs are the directories in which sockets may be.
func (s *Store) HeldDirs() []string { return socketDirs(s, heldName) }

// LiveDirs are those of LiveSocket.
func LiveDirs(s *Store) []string { return socketDirs(s, liveName) }

func socketDirs(s *Store, name string) []string {
	own := fmt.Sprintf("mcpc-%d", os.Geteuid())
	return []string{s.dir.file(name), filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own)}
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
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &Error{Reason: Unreadable, Path: socket, Err: err}
	case fi.Mode().Type() != fs.ModeSocket || !ownedByUs(fi):
		return unsafePath(socket, "it is not a socket of yours", wire.Hint("ls -l "+quoted(socket)))
	}
	return nil
}
