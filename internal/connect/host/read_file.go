package host

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"mcpc/internal/usage"
)

// Limits of the user's own files. --max-time limits reading, too: a device never ends, and a FIFO
// may wait for a writer forever.
const (
	// MostSecret limits a token, a secret, a key, and a file of certificates, in bytes.
	MostSecret = 1 << 20
	// MostInput limits arguments and other input that is sent, unless --max-message-size is set.
	MostInput = 1 << 30
	// maxTypedLine limits a line that is typed or pasted.
	maxTypedLine = 64 << 10
)

// A TooMuch is the error of an input that is longer than this number of bytes.
type TooMuch int64

func (most TooMuch) Error() string { return fmt.Sprintf("it has more than %d bytes", int64(most)) }

// ReadFile reads a file of at most limit bytes. The error is a TooMuch for a larger file, and
// usage.Late if --max-time is over.
func (e *Env) ReadFile(name string, limit int64) ([]byte, error) {
	return e.InTime(func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ReadUpTo(f, limit)
	})
}

// InputLimit returns the limit for input that is sent, in bytes. --max-message-size sets it.
func (e *Env) InputLimit() int64 { return cmp.Or(e.Limits.Message, MostInput) }

// InTime calls read and stops waiting for it after --max-time. read then continues in its goroutine
// until the process ends.
func (e *Env) InTime(read func() ([]byte, error)) ([]byte, error) {
	limit := e.Limits.Hard
	if limit <= 0 {
		return read()
	}
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1) // a read that ends too late does not block
	go func() {
		raw, err := read()
		done <- result{raw: raw, err: err}
	}()
	select {
	case r := <-done:
		return r.raw, r.err
	case <-time.After(limit):
		return nil, usage.Late("it could not be read within " + limit.String())
	}
}

// ReadUpTo reads r to its end. It returns a TooMuch error after limit bytes, unless limit is
// negative.
func ReadUpTo(r io.Reader, limit int64) ([]byte, error) {
	if limit < 0 {
		return io.ReadAll(r)
	}
	var b bytes.Buffer
	if f, ok := r.(*os.File); ok { // allocate the memory for a large file once
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() <= limit {
			b.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := b.ReadFrom(io.LimitReader(r, limit+1)) // the last byte shows that r is too long
	if err == nil && int64(b.Len()) > limit {
		return nil, TooMuch(limit)
	}
	return b.Bytes(), err
}

// ReadLine reads a line that is typed or pasted, with its line end. At the end of the input it returns
// what is left, and io.EOF. A line of more than maxTypedLine bytes is an error.
func ReadLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		line.Write(part)
		if line.Len() > maxTypedLine {
			return "", fmt.Errorf("the line is longer than %d bytes", maxTypedLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line.String(), err
		}
	}
}

// MostSaid limits how much of a server's text is shown, in bytes.
const MostSaid = 2000
