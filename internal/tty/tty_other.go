//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"context"
	"errors"
	"os"
)

// A Terminal is one that can be asked; on this system none can.
type Terminal struct{}

// Open always fails here.
func Open() (*Terminal, error) {
	return nil, errors.New("terminal queries are not supported on this system")
}

// Ask gives no facts.
func (t *Terminal) Ask(int) Facts { return Facts{} }

// Restore does nothing.
func (t *Terminal) Restore() {}

// Close does nothing.
func (t *Terminal) Close() {}

// Gone is false: here only a write shows a closed reader.
func Gone(*os.File) bool { return false }

// Handed fails where no file has the name of a descriptor.
func Handed(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// GivesUp is false: Read does not end with its context here.
const GivesUp = false

// Read is f.Read here.
func Read(_ context.Context, f *os.File, block []byte) (int, error) { return f.Read(block) }
