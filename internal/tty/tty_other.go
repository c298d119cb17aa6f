//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"context"
	"errors"
	"os"
)

// A Terminal has no function on this system.
type Terminal struct{}

// Open returns an error on this system.
func Open() (*Terminal, error) {
	return nil, errors.New("terminal queries are not supported on this system")
}

// Ask returns no facts.
func (t *Terminal) Ask(int) Facts { return Facts{} }

// Restore does nothing.
func (t *Terminal) Restore() {}

// Close does nothing.
func (t *Terminal) Close() {}

// ReaderClosed returns false: on this system only a write finds a closed reader.
func ReaderClosed(*os.File) bool { return false }

// OpenInherited returns an error on this system.
func OpenInherited(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// CanCancelRead is false: on this system Read does not stop when its context ends.
const CanCancelRead = false

// Read calls f.Read.
func Read(_ context.Context, f *os.File, block []byte) (int, error) { return f.Read(block) }
