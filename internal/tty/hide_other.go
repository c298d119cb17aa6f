//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package tty

import (
	"errors"
	"os"
)

// Hide returns an error on this system.
func Hide(*os.File) (show func(), err error) {
	return nil, errors.New("hidden input is not supported on this system")
}
