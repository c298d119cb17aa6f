package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// createUnnamed creates a file that never has a name, so that nothing is left of it even if the
// process is killed. If the file system has no such files, it removes the name of a usual file.
func createUnnamed(dir string) (*os.File, error) {
	if f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	return createUnlinked(dir)
}
