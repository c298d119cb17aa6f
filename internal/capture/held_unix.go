//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package capture

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockShared locks an open file for its recorder until it is closed. The lock ends with the process, however that ends.
func lockShared(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) }

// lockExclusive locks an open file unless a recorder has locked it, which it reports. A file system that has no locks is no
// reason to keep a recording for ever.
func lockExclusive(f *os.File) (isHeld bool) {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// isDeleted reports whether an open file was deleted.
func isDeleted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
