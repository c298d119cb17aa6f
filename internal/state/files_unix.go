//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openSafely are flags for every open: it follows no symbolic link, and does not wait for a
// named pipe.
const openSafely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// openNoFollow opens a file that is not a symbolic link.
func openNoFollow(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|openSafely, 0)
}

// ownedByUs reports whether this user owns a file.
func ownedByUs(fi fs.FileInfo) bool { return owner(fi) == os.Geteuid() }

// ownedByRoot reports whether root owns a file.
func ownedByRoot(fi fs.FileInfo) bool { return owner(fi) == 0 }

// owner returns the user id of a file's owner, or -1 if it is unknown.
func owner(fi fs.FileInfo) int {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

// openToOthers reports whether the group or others can write to a file.
func openToOthers(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o022 != 0 }

// syncDir makes renames in a directory durable. It ignores the EINVAL or ENOTSUP of file systems
// that cannot sync a directory.
func syncDir(dir string, sync func(*os.File) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := sync(d); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
