//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package capture

import (
	"io/fs"
	"os"
	"syscall"
)

// lockShared locks an open file for its recorder until it is closed. The lock ends with the process, however that ends.
func lockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }

// lockAlone locks an open file that no recorder has open; the error is that of a file that a recorder writes to.
func lockAlone(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// hasNoName reports whether an open file was deleted.
func hasNoName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
