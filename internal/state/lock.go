package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// The lock is a file of its own: state.json is replaced by renaming, so that a
// lock on it would be a lock on a file that is no longer there. The operating
// system releases it when its holder dies.

// pidAt is the offset of the holder's process id in the lock file. Windows locks byte 0
// against all reading.
const pidAt = 1

// lock makes the directory if need be and takes the lock. The error is
// [Locked], another [Error], or the context's own when that ended.
func (d *directory) lock(ctx context.Context) (unlock func(), err error) {
	return d.lockFile(ctx, lockName, d.wait)
}

// lockFile takes the lock of that name, waiting at most that long.
func (d *directory) lockFile(ctx context.Context, name string, wait time.Duration) (unlock func(), err error) {
	if err := makeDir(d.path); err != nil {
		return nil, err
	}
	path := d.file(name)
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		fl, err := acquire(until, path)
		if err != nil {
			err = openError(path, err, Unwritable)
			if errors.Is(err, fs.ErrNotExist) { // the directory was just removed
				err = &Error{Reason: Unwritable, Path: path, Err: err}
			}
			return nil, err
		}
		if fl == nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if fl == nil {
			return nil, locked(path)
		}
		same, err := sign(fl)
		if err == nil && same {
			return func() { release(fl) }, nil
		}
		release(fl)
		if err != nil {
			return nil, err
		}
		// The lock file was removed meanwhile: the next process would lock another
		// one, so this lock does not count.
	}
}

// acquire takes the lock or, when the context ends first, gives nil. It waits in the
// kernel, which serves in order: with polling, a few of many processes wait until they
// give up.
func acquire(ctx context.Context, path string) (*flock.Flock, error) {
	fl := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|openSafely), flock.SetPermissions(0o600))
	if ok, err := fl.TryLock(); ok || err != nil {
		return fl, err
	}
	// Not created: a wait that was given up must not make the file anew in a directory
	// that is being removed.
	fl = flock.New(path, flock.SetFlag(os.O_RDWR|openSafely))
	taken := make(chan error)
	go func() {
		err := fl.Lock()
		for errors.Is(err, syscall.EINTR) {
			err = fl.Lock()
		}
		select {
		case taken <- err:
		case <-ctx.Done(): // too late: the caller gave up
			release(fl)
		}
	}()
	select {
	case err := <-taken:
		if errors.Is(err, fs.ErrNotExist) {
			return acquire(ctx, path)
		}
		return fl, err
	case <-ctx.Done():
		return nil, nil
	}
}

// release gives the lock back. Where that fails, the file stays open and the lock
// stays taken, from this process too: it is tried once more.
func release(fl *flock.Flock) {
	if fl.Unlock() != nil {
		_ = fl.Unlock()
	}
}

// sign writes the process id into the lock file, and reports whether the file
// of that name is the one that is locked.
func sign(fl *flock.Flock) (same bool, err error) {
	mine, err := fl.Stat()
	if err != nil {
		return false, &Error{Reason: Unwritable, Path: fl.Path(), Err: err}
	}
	// Whatever the umask is; it may have taken the right to open the file.
	if fi, err := os.Lstat(fl.Path()); err == nil && os.SameFile(mine, fi) && fi.Mode().Perm() != 0o600 {
		_ = os.Chmod(fl.Path(), 0o600)
	}
	f, err := openFile(fl.Path(), os.O_RDWR, Unwritable)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(mine, now) {
		return false, nil
	}
	if _, err := f.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), pidAt); err != nil {
		return false, &Error{Reason: Unwritable, Path: fl.Path(), Err: err}
	}
	return true, nil
}

// locked says who holds the lock, as far as the lock file tells.
func locked(path string) *Error {
	e := &Error{Reason: Locked, Path: path, what: "is held by another process"}
	f, err := openFile(path, os.O_RDONLY, Unreadable)
	if err != nil {
		return e
	}
	defer f.Close()
	buf := make([]byte, 10)
	n, _ := f.ReadAt(buf, pidAt)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil && pid > 0 {
		e.PID = pid
		e.what = fmt.Sprintf("is held by process %d", pid)
	}
	return e
}
