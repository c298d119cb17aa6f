package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// createUnnamed makes a file that never has a name, so that nothing is left of it even if the process is
// killed at once. A file system without such files gets one whose name is removed.
func createUnnamed(dir string) (*os.File, error) {
	if f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	return createUnlinked(dir)
}
