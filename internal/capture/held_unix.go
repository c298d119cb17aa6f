//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package capture

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockShared locks an open file for its recorder. The lock ends when the file is closed or the
// process ends.
func lockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }

// lockExclusive locks an open file and reports whether a recorder holds it. It ignores a file
// system without locks, which must not keep recordings for ever.
func lockExclusive(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// isDeleted reports whether an open file was deleted.
func isDeleted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
