package capture

import (
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockShared locks an open file for its recorder until it is closed. The lock ends with the process, however that ends.
func lockShared(f *os.File) error { return lockByte(f, 0) }

// lockAlone locks an open file that no recorder has open; the error is that of a file that a recorder writes to.
func lockAlone(f *os.File) error { return lockByte(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// lockByte locks a byte that no recording reaches: a lock keeps others from reading and writing what it covers.
func lockByte(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: math.MaxInt32})
}

// hasNoName reports whether an open file was deleted, which Windows does not allow.
func hasNoName(fs.FileInfo) bool { return false }
