//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openSafely is added to every open: no symbolic link is followed, and a named
// pipe in the place of a file does not make mcpc wait.
const openSafely = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func openNoFollow(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|openSafely, 0)
}

func ownedByUs(fi fs.FileInfo) bool { return owner(fi) == os.Geteuid() }

func ownedByRoot(fi fs.FileInfo) bool { return owner(fi) == 0 }

func owner(fi fs.FileInfo) int {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(st.Uid)
}

func openToOthers(fi fs.FileInfo) bool { return fi.Mode().Perm()&0o022 != 0 }

// syncDir makes a rename survive a power cut. Some file systems cannot sync a
// directory and say EINVAL; there is nothing more to be done on those.
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
