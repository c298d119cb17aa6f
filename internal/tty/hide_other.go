//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package tty

import (
	"errors"
	"os"
)

// Hide always fails here.
func Hide(*os.File) (show func(), err error) {
	return nil, errors.New("hidden input is not supported on this system")
}
