//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"errors"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// How long a terminal is waited for: so many tenths of a second in which nothing
// comes, and so many reads or bytes of one that never stops.
const (
	silence   = 10
	mostReads = 500
	mostBytes = 8 << 10
)

// A Terminal is the one that the process belongs to, taken out of the mode in which
// it echoes and waits for whole lines.
type Terminal struct {
	fd     int
	before unix.Termios
	give   sync.Once
	// owes is set while answers may still come.
	owes atomic.Bool
}

var (
	errBackground = errors.New("the terminal is in use by another program")
	errTyped      = errors.New("there is pending input")
)

// Open takes the terminal of the process. It fails, and touches nothing, where there
// is none, where the process runs in the background, which would stop it, or where
// somebody has typed ahead: what is read here is lost for the program that it was
// typed for. What succeeds must be closed.
func Open() (*Terminal, error) {
	// Not through os: a file that Go polls does not know the timeout below.
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t := &Terminal{fd: fd}
	if err := t.take(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return t, nil
}

func (t *Terminal) take() error {
	owner, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return err
	}
	if owner != unix.Getpgrp() {
		return errBackground
	}
	mode, err := unix.IoctlGetTermios(t.fd, getMode)
	if err != nil {
		return err
	}
	t.before = *mode
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	mode.Iflag &^= unix.IXON | unix.ICRNL
	// A read ends after a tenth of a second, with nothing where nothing came.
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 0, 1
	if err := unix.IoctlSetTermios(t.fd, setMode, mode); err != nil {
		return err
	}
	if waiting, err := unix.IoctlGetInt(t.fd, pending); err != nil || waiting > 0 {
		t.Restore()
		return errTyped
	}
	return nil
}

// Ask puts the questions and reads the answers. patience makes it wait longer, as
// for a terminal at the other end of the world: 1 is a second without any byte.
func (t *Terminal) Ask(patience int) Facts {
	t.owes.Store(true)
	if _, err := unix.Write(t.fd, []byte(questions)); err != nil {
		return Facts{}
	}
	var reply []byte
	block := make([]byte, 1024)
	for silent, reads := 0, 0; silent < silence*patience && reads < mostReads && len(reply) < mostBytes; reads++ {
		n, err := unix.Read(t.fd, block)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return Facts{}
		case n == 0:
			silent++
			continue
		}
		silent = 0
		reply = append(reply, block[:n]...)
		if f := parse(reply); f.Answered || f.Interrupted {
			t.owes.Store(!f.Answered)
			return f
		}
	}
	return Facts{}
}

// Restore gives the terminal back as it was; what came of answers that are not
// complete is thrown away. Only the first call does something, and it may come from
// another goroutine.
func (t *Terminal) Restore() {
	t.give.Do(func() {
		request := uint(setMode)
		if t.owes.Load() {
			request = flushMode
		}
		_ = unix.IoctlSetTermios(t.fd, request, &t.before)
	})
}

// Close is Restore, and the end of it.
func (t *Terminal) Close() {
	t.Restore()
	_ = unix.Close(t.fd)
}
