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

// checkDir returns an error for a state directory that another user could have changed. The error
// is fs.ErrNotExist if the directory does not exist.
func checkDir(dir string) error {
	fi, err := os.Lstat(dir)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		// The user may have linked the directory; a link of another user is an attack.
		if !ownedByUs(fi) && !ownedByRoot(fi) {
			return unsafePath(dir, "it is another user's symbolic link", "")
		}
		fi, err = os.Stat(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if err != nil {
		return &Error{Reason: Unreadable, Path: dir, Err: err}
	}
	if !fi.IsDir() {
		return unsafePath(dir, "it is not a directory", "")
	}
	if !ownedByUs(fi) {
		return unsafePath(dir, "it belongs to another user", "")
	}
	if openToOthers(fi) {
		return unsafePath(dir, "it is writable by others", wire.Hint("chmod 700 "+quoted(dir)))
	}
	return nil
}

// makeDir creates the state directory with mode 0700, or checks an existing one. It changes the mode
// of an empty directory that others can write to.
func makeDir(dir string) error {
	err := checkDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return &Error{Reason: Unwritable, Path: dir, Err: err}
		}
		_ = os.Chmod(dir, 0o700) // the umask may have removed permissions
		return checkDir(dir)
	}
	isMadeForState := IsReason(err, Unsafe) && emptyDirOfOurs(dir) // such as by mkdir with a usual umask
	if !isMadeForState || os.Chmod(dir, 0o700) != nil {
		return err
	}
	return checkDir(dir)
}

// emptyDirOfOurs reports whether dir is an empty directory of this user.
func emptyDirOfOurs(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || !ownedByUs(fi) {
		return false
	}
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

// makeSubdir creates a directory inside the state directory, or checks that an existing one belongs
// to this user and sets its mode.
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
	lacksPermission := fi.Mode().Perm()&0o700 != 0o700 // because of the umask
	if lacksPermission || openToOthers(fi) {
		_ = os.Chmod(dir, 0o700)
	}
	return nil
}

// openFile opens an existing regular file of this user. It follows no symbolic link and does not
// wait for a pipe. It returns fs.ErrNotExist if there is no file, and an Error with reason if the
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

// openError returns the error for a file that could not be opened because of err. It inspects the
// file, because systems return different errors for a link that is opened with O_NOFOLLOW.
func openError(path string, err error, reason Reason) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if fi, lerr := os.Lstat(path); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
		return unsafePath(path, "it is a symbolic link", wire.Hint("ls -l "+quoted(path)))
	}
	return &Error{Reason: reason, Path: path, Err: err}
}

// readFile reads a file of at most limit bytes. The file does not grow meanwhile, because writers
// replace it.
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

// tmpSuffix is the end of the name of a file that is not yet complete.
const tmpSuffix = ".tmp"

// replaceFile replaces path with a new file of mode 0600, or leaves the old file unchanged after an
// error. The caller holds the lock, so the temporary name can be fixed; a file that a killed process
// left there is overwritten.
//
// If sync is not nil, the file is complete after a power cut, because it is synced before the rename. The
// rename is durable once the directory is synced too. With a nil sync the file survives a kill, but a
// power cut may lose or damage it, so its reader needs a checksum.
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

// writeNew writes a new file with mode 0600, and syncs it if sync is not nil. It fails if path exists.
// After an error the caller deletes the incomplete file.
func writeNew(path string, sync func(*os.File) error, parts ...[]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openSafely, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil { // the umask may have removed permissions
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

// rename replaces path by tmp. On Windows that fails for microseconds while another process has path
// open, so rename tries again.
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

// OfAnotherUser reports whether the owner of a file is neither this user nor root.
func OfAnotherUser(fi fs.FileInfo) bool { return !ownedByUs(fi) && !ownedByRoot(fi) }
