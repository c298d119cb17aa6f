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

// Open takes the terminal of the process. It fails, and leaves it as it was, where there is
// none, where the process runs in the background, which would stop it, or where the user
// has typed ahead: what is read here is lost for the program that it was typed for. What
// succeeds must be closed.
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
	if !foreground(t.fd) {
		return errBackground
	}
	mode, err := unix.IoctlGetTermios(t.fd, getMode)
	if err != nil {
		return err
	}
	t.before = *mode
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
	mode.Iflag &^= unix.IXON | unix.ICRNL
	// A read ends after a tenth of a second, with nothing where no byte came.
	mode.Cc[unix.VMIN] = 0
	mode.Cc[unix.VTIME] = 1
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
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Facts{}
		}
		if n == 0 {
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

// Gone reports that f is a pipe or a socket whose reader has closed it: whatever is
// written to it is lost. It does not wait. That it says false is no promise.
func Gone(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		// Not every system looks at a pipe of which it is asked nothing.
		asked := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(asked, 0)
		gone = err == nil && n > 0 && asked[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}

// Handed opens a descriptor that the process was started with, to write to it from the file
// offset that it has there. The error is that of the operating system, or EBADF also for
// what the process opened itself, which closes on exec, and for what can only be read.
func Handed(fd int) (*os.File, error) {
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
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), "descriptor"), nil
}

// Hide makes the terminal f show nothing of what is typed, until show is called. It
// comes before the question: what is pasted at once would be seen.
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

// GivesUp says that Read ends with its context.
const GivesUp = true

// glance is how long, in microseconds, Read takes to see that its context ended.
const glance = 20_000

// Read is f.Read for the terminal f. Where ctx ends first the error is why, and what is
// typed then is left to the next reader. A terminal that the process does not belong to may
// yet keep a read whose line Ctrl-C took away.
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
		// Not poll, which has no terminals on macOS.
		n, err := unix.Select(fd+1, &wanted, nil, nil, &unix.Timeval{Usec: glance})
		if errors.Is(err, unix.EINTR) || err == nil && n == 0 {
			continue
		}
		if err != nil || own < 0 {
			return f.Read(block)
		}
		if !foreground(own) { // what is typed is for another process, and a read would stop this one
			_, _ = unix.Select(0, nil, nil, nil, &unix.Timeval{Usec: glance})
			continue
		}
		n, err = unix.Read(own, block)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue // Ctrl-C throws away what was there a moment ago
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

// foreground reports whether the terminal fd gives what is typed to the process.
func foreground(fd int) bool {
	owner, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err != nil || owner == unix.Getpgrp()
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
