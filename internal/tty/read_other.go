//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"context"
	"os"
)

// GivesUp is false where nobody knows how to end a read.
const GivesUp = false

// Read is f.Read here.
func Read(_ context.Context, f *os.File, block []byte) (int, error) { return f.Read(block) }
