//go:build unix && !linux

package spool

import "os"

func createUnnamed(dir string) (*os.File, error) { return createUnlinked(dir) }
