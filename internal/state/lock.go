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

// pidOffset is the offset of the owner's process id in the lock file. Windows locks byte 0 against
// reading.
const pidOffset = 1

// pidWidth is the width of the process id in the lock file, which is padded with spaces.
const pidWidth = 10

// lock creates the directory if necessary and locks it. The error has reason [Locked] or another
// reason, or is the context's error if the context ended. The lock is a separate file, because
// state.json is replaced by renaming. The operating system releases the lock when its owner dies.
func (d *directory) lock(ctx context.Context) (unlock func(), err error) {
	return d.lockFile(ctx, lockName, d.wait)
}

// lockFile locks the file with that name and waits at most for wait.
func (d *directory) lockFile(ctx context.Context, name string, wait time.Duration) (unlock func(), err error) {
	if err := makeDir(d.path); err != nil {
		return nil, err
	}
	path := d.file(name)
	waitCtx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		fl, err := acquire(waitCtx, path)
		if err != nil {
			err = openError(path, err, Unwritable)
			if errors.Is(err, fs.ErrNotExist) { // the directory was deleted at the same time
				err = &Error{Reason: Unwritable, Path: path, Err: err}
			}
			return nil, err
		}
		if fl == nil && ctx.Err() != nil { // the caller's context ended
			return nil, ctx.Err()
		}
		if fl == nil { // the time to wait is over
			return nil, lockedError(path)
		}
		isCurrent, err := sign(fl)
		if err == nil && isCurrent {
			return func() { release(fl) }, nil
		}
		release(fl)
		if err != nil {
			return nil, err
		}
		// The lock file was deleted: the next process would lock a new file, so this lock is void.
	}
}

// acquire locks a file, which it creates if necessary. It returns nil without an error if the
// context ends first. It waits in the kernel, which serves waiting processes in order: with
// polling, some of many processes would wait until they give up.
func acquire(ctx context.Context, path string) (*flock.Flock, error) {
	fl := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|openSafely), flock.SetPermissions(0o600))
	if ok, err := fl.TryLock(); ok || err != nil {
		return fl, err
	}
	// The waiting goroutine must not create the file: it may continue after this call gave up, when
	// the directory is being deleted.
	fl = flock.New(path, flock.SetFlag(os.O_RDWR|openSafely))
	acquired := make(chan error)
	go func() {
		err := fl.Lock()
		for errors.Is(err, syscall.EINTR) {
			err = fl.Lock()
		}
		select {
		case acquired <- err:
		case <-ctx.Done(): // the caller gave up
			release(fl)
		}
	}()
	select {
	case err := <-acquired:
		if errors.Is(err, fs.ErrNotExist) { // deleted after TryLock: create it again
			return acquire(ctx, path)
		}
		return fl, err
	case <-ctx.Done():
		return nil, nil
	}
}

// release unlocks a lock file. If that fails, the file stays open and locked, also for this process,
// so release tries once more.
func release(fl *flock.Flock) {
	if fl.Unlock() != nil {
		_ = fl.Unlock()
	}
}

// sign writes the process id into the lock file. It reports whether the file with that name is still
// the locked file.
func sign(fl *flock.Flock) (isCurrent bool, err error) {
	lockedFile, err := fl.Stat()
	if err != nil {
		return false, &Error{Reason: Unwritable, Path: fl.Path(), Err: err}
	}
	// The umask may have removed the permission to open the file.
	if fi, err := os.Lstat(fl.Path()); err == nil && os.SameFile(lockedFile, fi) && fi.Mode().Perm() != 0o600 {
		_ = os.Chmod(fl.Path(), 0o600)
	}
	f, err := openFile(fl.Path(), os.O_RDWR, Unwritable)
	if os.IsNotExist(err) { // the lock file was deleted
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	current, err := f.Stat()
	if err != nil || !os.SameFile(lockedFile, current) { // another process has created a new one
		return false, nil
	}
	if _, err := f.WriteAt(fmt.Appendf(nil, "%-*d\n", pidWidth, os.Getpid()), pidOffset); err != nil {
		return false, &Error{Reason: Unwritable, Path: fl.Path(), Err: err}
	}
	return true, nil
}

// lockedError returns the error for a lock that another process holds, with its process id if the lock
// file has it.
func lockedError(path string) *Error {
	e := &Error{Reason: Locked, Path: path, what: "is held by another process"}
	f, err := openFile(path, os.O_RDONLY, Unreadable)
	if err != nil {
		return e
	}
	defer f.Close()
	buf := make([]byte, pidWidth)
	n, _ := f.ReadAt(buf, pidOffset)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil && pid > 0 {
		e.PID = pid
		e.what = fmt.Sprintf("is held by process %d", pid)
	}
	return e
}
