package spool

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// To returns a writer to w, which lets the system copy what is of a file, where w is a file or a
// pipe: it need not be in memory then.
func To(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return sender{f}
	}
	return w
}

// sent is the length from which a slice is sent.
const sent = 16 << 10

type sender struct{ to *os.File }

func (s sender) Write(p []byte) (n int, err error) {
	if len(p) >= sent {
		if m, at, ok := find(p); ok {
			n = s.send(m.file, int64(at), len(p))
		}
	}
	if n < len(p) {
		var more int
		more, err = s.to.Write(p[n:])
		n += more
	}
	return n, err
}

// send sends some of a file, as far as that is possible: why no more shows the next Write.
func (s sender) send(from *os.File, at int64, size int) (n int) {
	to, err := s.to.SyscallConn()
	if err != nil {
		return 0
	}
	for failed := error(nil); n < size && failed == nil; {
		sent := 0
		err := to.Write(func(fd uintptr) (ready bool) {
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
