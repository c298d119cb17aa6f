package state

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"time"

	"github.com/natefinch/atomic"

	"mcpc/internal/spool"
	"mcpc/internal/wire"
)

// checkDir refuses a state directory in which another user could have put things. A missing
// one is fs.ErrNotExist.
func checkDir(dir string) error {
	fi, err := os.Lstat(dir)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		// A link that the user made (dotfiles) is fine, a planted one is not.
		if !ownedByUs(fi) && !ownedByRoot(fi) {
			return unsafePath(dir, "it is another user's symbolic link", "")
		}
		fi, err = os.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	case err != nil:
		return &Error{Reason: Unreadable, Path: dir, Err: err}
	case !fi.IsDir():
		return unsafePath(dir, "it is not a directory", "")
	case !ownedByUs(fi):
		return unsafePath(dir, "it belongs to another user", "")
	case openToOthers(fi):
		return unsafePath(dir, "it is writable by others", wire.Hint("chmod 700 "+quoted(dir)))
	}
	return nil
}

// makeDir makes the state directory with mode 0700, or checks the one that is
// there. An empty directory that others can write to is taken over.
func makeDir(dir string) error {
	err := checkDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return &Error{Reason: Unwritable, Path: dir, Err: err}
		}
		_ = os.Chmod(dir, 0o700) // the umask may have taken too much
		return checkDir(dir)
	}
	if IsReason(err, Unsafe) && emptyDirOfOurs(dir) && os.Chmod(dir, 0o700) == nil {
		return checkDir(dir)
	}
	return err
}

func emptyDirOfOurs(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || !ownedByUs(fi) {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// makeSubdir makes a directory inside the state directory, and reports whether
// it is a directory of ours.
func makeSubdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return &Error{Reason: Unwritable, Path: dir, Err: err}
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return &Error{Reason: Unwritable, Path: dir, Err: err}
	}
	if !fi.IsDir() || !ownedByUs(fi) {
		return unsafePath(dir, "it is not a directory of yours", "")
	}
	if fi.Mode().Perm()&0o700 != 0o700 || openToOthers(fi) {
		_ = os.Chmod(dir, 0o700)
	}
	return nil
}

// openFile opens an existing plain file of ours, following no symbolic link and
// waiting for no pipe. A missing file is fs.ErrNotExist; reason is for what the
// operating system refuses.
func openFile(path string, flag int, reason Reason) (*os.File, error) {
	f, err := openNoFollow(path, flag)
	if err != nil {
		return nil, openError(path, err, reason)
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
		err = &Error{Reason: reason, Path: path, Err: err}
	case !fi.Mode().IsRegular():
		err = unsafePath(path, "it is not a plain file", wire.Hint("ls -l "+quoted(path)))
	case !ownedByUs(fi):
		err = unsafePath(path, "it belongs to another user", wire.Hint("ls -l "+quoted(path)))
	default:
		return f, nil
	}
	f.Close()
	return nil, err
}

// openError explains why a file could not be opened. What an open of a link
// with O_NOFOLLOW returns differs between systems, so the file is looked at.
func openError(path string, err error, reason Reason) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if fi, lerr := os.Lstat(path); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return unsafePath(path, "it is a symbolic link", wire.Hint("ls -l "+quoted(path)))
	}
	return &Error{Reason: reason, Path: path, Err: err}
}

// readFile reads a whole file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := openFile(path, os.O_RDONLY, Unreadable)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && fi.Size() > limit {
		err = errors.New("file too large")
	}
	if err != nil {
		return nil, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	raw := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, &Error{Reason: Unreadable, Path: path, Err: err}
	}
	return raw, nil
}

// tmpSuffix is what the name of a file ends in that is not yet whole.
const tmpSuffix = ".tmp"

// replaceFile puts a new file with mode 0600 in the place of path, or leaves
// the old one as it was. The caller holds the lock, which is why the temporary
// name can be a fixed one: what a killed process left there is overwritten.
//
// With sync, the file is whole after a power cut: it is synced before it gets its
// name. That it has the name lasts once the directory is synced too. With nil it
// survives a kill; after a power cut it may be lost or broken, so its reader has a
// checksum.
func replaceFile(path string, sync func(*os.File) error, parts ...[]byte) error {
	tmp := path + tmpSuffix
	_ = os.Remove(tmp)
	err := writeNew(tmp, sync, parts...)
	if err == nil {
		err = rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return &Error{Reason: Unwritable, Path: path, Err: err}
	}
	return nil
}

func writeNew(path string, sync func(*os.File) error, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openSafely, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil { // whatever the umask is
		return err
	}
	for _, p := range parts {
		if _, err := spool.WriteAll(f, p); err != nil {
			return err
		}
	}
	if sync != nil {
		if err := sync(f); err != nil {
			return err
		}
	}
	return f.Close()
}

// rename replaces path by tmp. On Windows that fails while another process has
// path open, which is a matter of microseconds.
func rename(tmp, path string) error {
	err := atomic.ReplaceFile(tmp, path)
	for range 20 {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		time.Sleep(5 * time.Millisecond)
		err = atomic.ReplaceFile(tmp, path)
	}
	return err
}

// OfAnotherUser reports a file whose owner is neither this user nor root.
func OfAnotherUser(fi fs.FileInfo) bool { return !ownedByUs(fi) && !ownedByRoot(fi) }
