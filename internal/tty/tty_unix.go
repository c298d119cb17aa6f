//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Limits for the answers of a terminal.
const (
	// maxSilence is for how many tenths of a second Ask waits for another byte.
	maxSilence = 10
	// maxReads and maxBytes stop Ask if a program writes endlessly to the terminal.
	maxReads = 500
	maxBytes = 8 << 10
)

// A Terminal is the process's terminal in a mode without echo, where reads do not wait for a line.
type Terminal struct {
	fd        int
	savedMode unix.Termios
	restore   sync.Once
	// answersPending is true while answers may still arrive. Ask writes it.
	answersPending atomic.Bool
}

var (
	errBackground = errors.New("the terminal is in use by another program")
	errTyped      = errors.New("there is pending input")
)

// Open opens the process's terminal and changes its mode; the caller must Close it. It fails,
// without a change of the terminal, if the process has no terminal or runs in the background, or if
// the user has typed ahead: reading would take that input from another program.
func Open() (*Terminal, error) {
	// A file of package os ignores the timeout that enterRawMode sets.
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t := &Terminal{fd: fd}
	if err := t.enterRawMode(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return t, nil
}

// enterRawMode stores the terminal's mode and turns off echo, line input and signals.
func (t *Terminal) enterRawMode() error {
	if !isForeground(t.fd) {
		return errBackground
	}
	mode, err := unix.IoctlGetTermios(t.fd, getMode)
	if err != nil {
		return err
	}
	t.savedMode = *mode
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	mode.Iflag &^= unix.IXON | unix.ICRNL
	// A read returns after a tenth of a second, with or without input.
	mode.Cc[unix.VMIN] = 0
	mode.Cc[unix.VTIME] = 1
	if err := unix.IoctlSetTermios(t.fd, setMode, mode); err != nil {
		return err
	}
	if unread, err := unix.IoctlGetInt(t.fd, pending); err != nil || unread > 0 {
		t.Restore()
		return errTyped
	}
	return nil
}

// Ask asks the terminal what it supports. It returns empty Facts if the answers are not complete in
// time. patience multiplies the time that it waits for another byte: more than 1 for a slow connection.
func (t *Terminal) Ask(patience int) Facts {
	t.answersPending.Store(true)
	if _, err := unix.Write(t.fd, []byte(questions)); err != nil {
		return Facts{}
	}
	var reply []byte
	block := make([]byte, 1024)
	silent := 0
	for range maxReads {
		if silent >= maxSilence*patience || len(reply) >= maxBytes {
			break
		}
		n, err := unix.Read(t.fd, block)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Facts{}
		}
		if n == 0 { // the read timed out
			silent++
			continue
		}
		silent = 0
		reply = append(reply, block[:n]...)
		if f := parseReply(reply); f.Answered || f.Interrupted {
			t.answersPending.Store(!f.Answered) // after Ctrl-C, answers may still arrive
			return f
		}
	}
	return Facts{}
}

// Restore restores the terminal's mode and discards incomplete answers. Calls after the first do
// nothing. Any goroutine may call it.
func (t *Terminal) Restore() {
	t.restore.Do(func() {
		request := uint(setMode)
		if t.answersPending.Load() {
			request = flushMode
		}
		_ = unix.IoctlSetTermios(t.fd, request, &t.savedMode)
	})
}

// Close restores the mode and closes the terminal.
func (t *Terminal) Close() {
	t.Restore()
	_ = unix.Close(t.fd)
}

// ReaderClosed reports whether f is a pipe or a socket whose reader has closed it, so that writes
// are lost. It does not wait. If it returns false the reader may still have closed it.
func ReaderClosed(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	_ = raw.Control(func(fd uintptr) {
		// Some systems ignore a pipe if no event is requested for it.
		files := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(files, 0)
		closed = err == nil && n > 0 && files[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return closed
}

// OpenInherited opens a file descriptor that the process inherited, for writing at its file offset.
// Its error is from the operating system. It is EBADF also if the process opened the descriptor
// itself (it closes on exec), or if the descriptor is read-only.
func OpenInherited(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil, err
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, err
	}
	if flags&unix.FD_CLOEXEC != 0 || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, unix.EBADF
	}
	duplicate, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(duplicate), "descriptor"), nil
}

// Hide turns off the echo of the terminal f until show is called. Call it before the prompt: pasted
// text would be visible at once.
func Hide(f *os.File) (show func(), err error) {
	fd := int(f.Fd())
	mode, err := unix.IoctlGetTermios(fd, getMode)
	if err != nil {
		return nil, err
	}
	before := *mode
	mode.Lflag &^= unix.ECHO
	mode.Lflag |= unix.ICANON | unix.ISIG
	mode.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setMode, mode); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, setMode, &before) }, nil
}

// CanCancelRead is true: Read stops when its context ends.
const CanCancelRead = true

// pollInterval is how often Read checks its context, in microseconds.
const pollInterval = 20_000

// Read calls f.Read for the terminal f. If ctx ends first it returns the cause, and leaves later
// input to the next reader. If the terminal cannot be opened again, Ctrl-C can discard a line that was
// already readable; Read then waits for the next line and does not notice that ctx ended.
func Read(ctx context.Context, f *os.File, block []byte) (int, error) {
	fd := int(f.Fd())
	if fd >= unix.FD_SETSIZE {
		return f.Read(block)
	}
	terminal := openNonblocking(fd)
	if terminal >= 0 {
		defer unix.Close(terminal)
	}
	for ctx.Err() == nil {
		var readable unix.FdSet
		readable.Set(fd)
		// On macOS poll does not support terminals.
		n, err := unix.Select(fd+1, &readable, nil, nil, &unix.Timeval{Usec: pollInterval})
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil || terminal < 0 {
			return f.Read(block)
		}
		if !isForeground(terminal) { // the input is for another process, and a read would stop this one
			_, _ = unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: pollInterval})
			continue
		}
		n, err = unix.Read(terminal, block)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue // Ctrl-C discarded the input
		}
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	return 0, context.Cause(ctx)
}

// isForeground reports whether the process gets the input of the terminal fd.
func isForeground(fd int) bool {
	owner, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || owner == unix.Getpgrp()
}

// openNonblocking opens the terminal fd again, so that its reads do not wait: a flag on fd itself
// would also affect the shell and other processes. It returns -1 if fd is not the process's
// terminal.
func openNonblocking(fd int) int {
	if _, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
		return -1
	}
	terminal, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return terminal
}
