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

// A KeptServer describes another process that keeps the server of a session running.
type KeptServer struct {
	// Socket is the socket of the keep process.
	Socket string `json:"socket"`
	// PID is the keep process, Since when it was started.
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Idle is how long the server runs without being used, in nanoseconds, or 0, which means no
	// limit.
	Idle time.Duration `json:"idle,omitempty"`
}

// The kinds of sockets: of keep processes, and of commands that show live traffic.
const (
	HeldSockets = "held"
	LiveSockets = "live"
)

// maxSocket is the longest path of a socket on all systems (104 bytes with a NUL on BSD and macOS),
// minus the suffix of its name while it is created.
const maxSocket = 103 - len(".new")

// Socket returns the path for a socket of a kind, in a directory that only the user can access,
// which it creates. That is in the state directory, or elsewhere if that path is too long for a
// socket.
func (s *Store) Socket(kind, name string) (string, error) {
	for _, dir := range s.SocketDirs(kind) {
		path := filepath.Join(dir, name+".sock")
		if len(path) > maxSocket {
			continue
		}
		if filepath.Dir(dir) == s.dir.path { // makeSubdir creates no parent
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

// SocketDirs returns the directories that may contain sockets of a kind.
func (s *Store) SocketDirs(kind string) []string {
	own := fmt.Sprintf("mcpc-%d", os.Geteuid())
	return []string{s.dir.file(kind), filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own)}
}

// CheckHeld returns an error if another user could have created the socket. It returns nil if the
// socket does not exist.
func CheckHeld(socket string) error {
	dir := filepath.Dir(socket)
	fi, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Reason: Unreadable, Path: dir, Err: err}
	}
	if !fi.IsDir() || !ownedByUs(fi) {
		return unsafePath(dir, "it is not a directory of yours", wire.Hint("ls -ld "+quoted(dir)))
	}
	if fi.Mode().Perm()&0o077 != 0 {
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
