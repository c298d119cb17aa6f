package capture

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockShared locks an open file for its recorder until it is closed. The lock ends with the process, however that ends.
func lockShared(f *os.File) error { return lockByte(f, 0) }

// lockExclusive locks an open file unless a recorder has locked it, which it reports. A file system that has no locks is no
// reason to keep a recording for ever.
func lockExclusive(f *os.File) (isHeld bool) {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING)
}

// lockByte locks a byte that no recording reaches: a lock keeps others from reading and writing what it covers.
func lockByte(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: math.MaxInt32})
}

// isDeleted reports whether an open file was deleted, which Windows does not allow.
func isDeleted(fs.FileInfo) bool { return false }
