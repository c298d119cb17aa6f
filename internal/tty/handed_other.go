//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"errors"
	"os"
)

// Handed fails where no file has the name of a descriptor.
func Handed(int) (*os.File, error) { return nil, errors.ErrUnsupported }
