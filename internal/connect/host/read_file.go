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

// What mcpc reads of the user's own has an end, in size and by --max-time: a device
// has none of its own, and a FIFO may wait for a writer that never comes.
const (
	// MostSecret bounds a token, a secret, a key, and a file of certificates.
	MostSecret = 1 << 20
	// MostInput bounds arguments and what else is sent, unless --max-message-size does.
	MostInput = 1 << 30
	// mostTyped bounds a line that is typed or pasted.
	mostTyped = 64 << 10
)

// A TooMuch is the error of an input that is longer than so many bytes.
type TooMuch int64

func (most TooMuch) Error() string { return fmt.Sprintf("it has more than %d bytes", int64(most)) }

// ReadFile reads a file of the user's. The error is an auth.Late where --max-time
// ends it, in a login or not.
func (e *Env) ReadFile(name string, most int64) ([]byte, error) {
	return e.InTime(func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return ReadUpTo(f, most)
	})

}

// InputLimit is the limit of the user for what is sent, else the one that there is.
func (e *Env) InputLimit() int64 { return cmp.Or(e.Limits.Message, MostInput) }

// InTime gives up what reads for longer than --max-time; without it nothing does. What
// is given up goes on until the process ends, which is soon.
func (e *Env) InTime(read func() ([]byte, error)) ([]byte, error) {
	limit := e.Limits.Hard
	if limit <= 0 {
		return read()
	}
	type result struct {
		raw []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		raw, err := read()
		done <- result{raw, err}
	}()
	select {
	case r := <-done:
		return r.raw, r.err
	case <-time.After(limit):
		return nil, usage.Late("it could not be read within " + limit.String())
	}
}

// ReadUpTo reads to the end, which comes after so many bytes at most; below 0 there is
// no limit.
func ReadUpTo(r io.Reader, most int64) ([]byte, error) {
	if most < 0 {
		return io.ReadAll(r)
	}
	var b bytes.Buffer
	if f, ok := r.(*os.File); ok { // of a large file the memory is taken once
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() <= most {
			b.Grow(int(info.Size()) + bytes.MinRead)
		}
	}
	_, err := b.ReadFrom(io.LimitReader(r, most+1))
	if err == nil && int64(b.Len()) > most {
		return nil, TooMuch(most)
	}
	return b.Bytes(), err
}

// ReadLine reads a line that is typed or pasted, with its end.
func ReadLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		line.Write(part)
		if line.Len() > mostTyped {
			return "", fmt.Errorf("the line is longer than %d bytes", mostTyped)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line.String(), err
		}
	}
}

// MostSaid is how much is shown of what a server wrote.
const MostSaid = 2000
