package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/wire"
)

// maxLineBytes is the longest line of a capture. A message of 64 MiB, the default limit for
// messages, fits in it with any escapes.
const maxLineBytes = 512 << 20

// A lineReader reads the lines of a capture. It holds one line at a time.
type lineReader struct {
	// OnFinding is called for every line that is skipped. It may be nil.
	OnFinding func(wire.Finding)

	buffered *bufio.Reader
	file     io.ReaderAt // the same, for a line that the buffer is too small for
	maxBytes int         // bytes in a line with its line feed
	offset   int64
	line     int
	buf      []byte
	// isWhole is set when the last line that was read had its line feed.
	isWhole bool
}

// newLineReader returns a reader of the lines of r from its current offset, which is the beginning
// of the file unless the caller sets offset and line.
func newLineReader(r interface {
	io.Reader
	io.ReaderAt
},
) *lineReader {
	return &lineReader{buffered: bufio.NewReaderSize(r, 256<<10), file: r, maxBytes: maxLineBytes}
}

// ErrNoCapture is the error for a file that does not begin with the head of a capture.
var ErrNoCapture = errors.New("not a capture: it does not begin like a recording of mcpc")

// report passes a warning to OnFinding.
func (r *lineReader) report(rule, text string) {
	if r.OnFinding != nil {
		r.OnFinding(wire.Finding{Rule: rule, Severity: wire.Warning, Text: text})
	}
}

// nextLine returns the next line that is not empty, without its line feed, and the offset where it
// begins. The line is valid until the next call. At the end it returns io.EOF.
func (r *lineReader) nextLine() (raw []byte, at int64, err error) {
	for {
		at = r.offset
		raw, err = r.readLine()
		r.offset += int64(len(raw))
		if errors.Is(err, errTooLong) {
			r.report("long_line", fmt.Sprintf("line %d is longer than %d MiB and was skipped", r.line, r.maxBytes>>20))
			continue
		}
		if err != nil {
			return nil, at, err
		}
		if n := len(raw); n > 2 && raw[0] == '{' && raw[n-2] == '}' && raw[n-1] == '\n' { // nothing to trim
			return raw[:n-1], at, nil
		}
		raw = bytes.TrimSpace(raw)
		if len(raw) > 0 {
			return raw, at, nil
		}
	}
}

var errTooLong = errors.New("line too long")

// readLine reads a line with its line feed. It does not copy a line that fits into the buffer. It
// measures a longer line first, so that it allocates its memory once. It returns errTooLong for a
// line of more than maxBytes.
func (r *lineReader) readLine() ([]byte, error) {
	r.line++
	part, err := r.buffered.ReadSlice('\n')
	r.isWhole = err == nil
	if err == nil {
		return part, nil
	}
	if cap(r.buf) > maxReusedBuffer {
		r.buf = nil
	}
	r.buf = append(r.buf[:0], part...)
	length := len(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.buffered.ReadSlice('\n')
		length += len(part)
		if length > r.maxBytes {
			r.offset += int64(length)
			return nil, r.skipLine(err)
		}
	}
	r.isWhole = err == nil
	if errors.Is(err, io.EOF) && length > 0 {
		err = nil
	}
	// r.buf has only the first part: read the whole line from the file.
	if length > len(r.buf) {
		r.buf = nil
		r.buf = roomFor(length)
		if _, failed := r.file.ReadAt(r.buf, r.offset); failed != nil && !errors.Is(failed, io.EOF) {
			return nil, failed
		}
	}
	return r.buf, err
}

// skipLine skips the rest of a line that is too long. err is the error of the last ReadSlice. It
// returns errTooLong, or io.EOF if the line has no line feed.
func (r *lineReader) skipLine(err error) error {
	r.buf = nil
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = r.buffered.ReadSlice('\n')
		r.offset += int64(len(part))
	}
	if err != nil {
		return err
	}
	return errTooLong
}
