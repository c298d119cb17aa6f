//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package capture

import (
	"io/fs"
	"os"
)

// These systems have no locks. Only the time of the last write says whether a recording may have a recorder.

func lockShared(*os.File) error { return nil }

func lockExclusive(*os.File) bool { return false }

func isDeleted(fs.FileInfo) bool { return false }
