package main

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

	"mcpc/internal/client/auth"
	"mcpc/internal/wire"
)

// What mcpc reads of the user's own has an end, in size and by --max-time: a device
// has none of its own, and a FIFO may wait for a writer who never comes.
const (
	// mostSecret bounds a token, a secret, a key, and a file of certificates.
	mostSecret = 1 << 20
	// mostInput bounds arguments and what else is sent, unless --max-message-size does.
	mostInput = 1 << 30
	// mostTyped bounds a line that is typed or pasted.
	mostTyped = 64 << 10
)

// A tooMuch is the error of an input that is longer than so many bytes.
type tooMuch int64

func (most tooMuch) Error() string { return fmt.Sprintf("it has more than %d bytes", int64(most)) }

// readFile reads a file of the user's. The error is an auth.Late where --max-time
// ends it, in a login or not.
func (a *env) readFile(name string, most int64) ([]byte, error) {
	return a.inTime(func() ([]byte, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readUpTo(f, most)
	})
}

// readInput reads standard input. A person at a terminal has the time that it takes.
func (a *app) readInput() ([]byte, error) {
	if a.isTyped() {
		a.note("reading from stdin, Ctrl-D ends it")
		return readUpTo(a.in, a.mostInput())
	}
	return a.inTime(func() ([]byte, error) { return readUpTo(a.in, a.mostInput()) })
}

// mostInput is the limit of the user for what is sent, else the one that there is.
func (a *env) mostInput() int64 { return cmp.Or(a.limits.Message, mostInput) }

// inTime gives up what reads for longer than --max-time; without it nothing does. What
// is given up goes on until the process ends, which is soon.
func (a *env) inTime(read func() ([]byte, error)) ([]byte, error) {
	limit := a.limits.Hard
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
		return nil, auth.Late("it could not be read within " + limit.String())
	}
}

// readUpTo reads to the end, which comes after so many bytes at most; below 0 there is
// no limit.
func readUpTo(r io.Reader, most int64) ([]byte, error) {
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
		return nil, tooMuch(most)
	}
	return b.Bytes(), err
}

// readLine reads a line that is typed or pasted, with its end.
func readLine(r *bufio.Reader) (string, error) {
	var line strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		if line.Write(part); line.Len() > mostTyped {
			return "", fmt.Errorf("the line is longer than %d bytes", mostTyped)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line.String(), err
		}
	}
}

// notRead is the error of an input that could not be read, with a way out.
func notRead(what string, err error, hint string) error {
	if isLate(err) {
		return fmt.Errorf("%s: %w", what, err) // usage has the way out of that
	}
	return hinted(what+": "+bare(err).Error(), wire.Hint(hint))
}

func isLate(err error) bool {
	_, late := errors.AsType[auth.Late](err)
	return late
}
