package spool

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// To returns a writer to w, which lets the system copy what is of a file, where w is a file or a
// pipe: it need not be in memory then.
func To(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		if to, err := f.SyscallConn(); err == nil {
			return &sender{f: f, to: to}
		}
	}
	return w
}

const (
	// sent is the length from which a slice is sent.
	sent = 16 << 10
	// pipeSize is how much a pipe holds into which a file is sent, where it may: the writer and the
	// reader wait for each other less often.
	pipeSize = 1 << 20
)

type sender struct {
	f  *os.File
	to syscall.RawConn
	// sends is set once something was sent.
	sends bool
}

func (s *sender) Write(p []byte) (n int, err error) {
	if len(p) >= sent {
		if m, at, ok := find(p); ok {
			if !s.sends {
				s.sends = true
				_ = s.to.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
			}
			n = s.send(m.file, int64(at), len(p))
		}
	}
	if n < len(p) {
		var more int
		more, err = s.f.Write(p[n:])
		n += more
	}
	return n, err
}

// send sends some of a file, as far as that is possible: why no more shows the next Write.
func (s *sender) send(from *os.File, at int64, size int) (n int) {
	for failed := error(nil); n < size && failed == nil; {
		sent := 0
		err := s.to.Write(func(fd uintptr) (ready bool) {
			sent, failed = unix.Sendfile(int(fd), int(from.Fd()), &at, size-n)
			return failed != unix.EAGAIN
		})
		if n += max(sent, 0); failed == unix.EINTR {
			failed = nil
		} else if err != nil || sent <= 0 {
			break
		}
	}
	return n
}
