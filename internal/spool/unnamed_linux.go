package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// createUnnamed makes a file without a name, or where the file system has none one that is
// removed at once.
func createUnnamed(dir string) (*os.File, error) {
	if f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	return createUnlinked(dir)
}
