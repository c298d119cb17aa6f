//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"context"
	"errors"
	"os"
)

// A Terminal is one that can be asked; here nobody knows how.
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

// Gone is false where nobody knows before something is written.
func Gone(*os.File) bool { return false }

// Handed fails where no file has the name of a descriptor.
func Handed(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// GivesUp is false where nobody knows how to end a read.
const GivesUp = false

// Read is f.Read here.
func Read(_ context.Context, f *os.File, block []byte) (int, error) { return f.Read(block) }
