//go:build !unix

package state

import (
	"errors"
	"io/fs"
	"os"
)

// On these systems access control lists protect the user's profile directory, and new files
// inherit them. Modes and owners have no meaning, so only links are checked.

const openSafely = 0

// openNoFollow opens a file that is not a symbolic link.
func openNoFollow(path string, flag int) (*os.File, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return nil, errors.New("symbolic link")
	}
	return os.OpenFile(path, flag, 0)
}

// ownedByUs returns true: access control lists protect the files.
func ownedByUs(fs.FileInfo) bool { return true }

// ownedByRoot returns false, see ownedByUs.
func ownedByRoot(fs.FileInfo) bool { return false }

// openToOthers returns false, see ownedByUs.
func openToOthers(fs.FileInfo) bool { return false }

// syncDir does nothing, because renames are durable here.
func syncDir(string, func(*os.File) error) error { return nil }
