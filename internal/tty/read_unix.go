//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// GivesUp says that Read ends with its context.
const GivesUp = true

// glance is how long, in microseconds, Read takes to see that its context ended.
const glance = 20_000

// Read is f.Read for the terminal f. Where ctx ends first the error is why, and what
// is typed then is left to whoever reads next. A terminal that the process does not
// belong to may yet keep a read whose line Ctrl-C took away.
func Read(ctx context.Context, f *os.File, block []byte) (int, error) {
	fd := int(f.Fd())
	if fd >= unix.FD_SETSIZE {
		return f.Read(block)
	}
	own := open(fd)
	if own >= 0 {
		defer unix.Close(own)
	}
	for ctx.Err() == nil {
		var wanted unix.FdSet
		wanted.Set(fd)
		// Not poll, which knows no terminal on macOS.
		n, err := unix.Select(fd+1, &wanted, nil, nil, &unix.Timeval{Usec: glance})
		switch {
		case errors.Is(err, unix.EINTR) || err == nil && n == 0:
			continue
		case err != nil || own < 0:
			return f.Read(block)
		}
		n, err = unix.Read(own, block)
		switch {
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
			continue // Ctrl-C throws away what was there a moment ago
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
	return 0, context.Cause(ctx)
}

// open opens the terminal once more, so that its reads do not wait: a flag on fd
// itself would be that of the shell and of all others who have it, too. It is -1
// where fd is no terminal, or none that the process belongs to.
func open(fd int) int {
	if _, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
		return -1
	}
	own, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return own
}
