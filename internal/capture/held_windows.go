package capture

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockShared locks an open file for its recorder. The lock ends when the file is closed or the
// process ends.
func lockShared(f *os.File) error { return lockByte(f, 0) }

// lockExclusive locks an open file and reports whether a recorder holds it. It ignores a file
// system without locks, which must not keep recordings for ever.
func lockExclusive(f *os.File) bool {
	err := lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK)
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING)
}

// lockByte locks a byte beyond the end of any recording: on Windows other processes can neither
// read nor write locked bytes.
func lockByte(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: math.MaxInt32})
}

// isDeleted returns false: Windows does not delete open files.
func isDeleted(fs.FileInfo) bool { return false }
