package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A batchLine is one line of the input, and later its result.
type batchLine struct {
	number int
	raw    []byte
	// err is why the line has no call, or nil.
	err error
	// ready is set when kind and out are set, or the line is omitted.
	ready bool
	kind  wire.Kind
	out   []byte // the line of the result
	// omitted is set if the call was not made: the line has no result.
	omitted bool
}

// A lineReader reads the lines of the input. It skips blank lines, and counts from 1.
type lineReader struct {
	r      *bufio.Reader
	limit  int64 // the maximum size of a line in bytes; 0 or less means no limit
	number int
	// ended is set after a read error.
	ended bool
}

// next returns the next line, or io.EOF. A line that is too long, or a read error, is returned as a
// line with an error.
func (r *lineReader) next() (*batchLine, error) {
	for {
		raw, long, err := r.line()
		r.number++
		if r.number == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF")) // a byte order mark
		}
		raw = bytes.TrimSpace(raw)
		l := &batchLine{number: r.number, raw: raw}
		if long {
			l.raw = nil
			l.err = usage.New(fmt.Sprintf("the line is longer than %d bytes", r.limit),
				"--max-message-size SIZE raises the limit, 0 removes it")
			return l, nil
		}
		if len(raw) > 0 { // the last line may have come with an error, which the next read reports
			return l, nil
		}
		if err == io.EOF || r.ended {
			return nil, io.EOF
		}
		if err != nil {
			r.ended = true
			l.err = fmt.Errorf("reading the calls: %w", usage.Bare(err))
			return l, nil
		}
	}
}

// line reads up to the end of a line. long reports that the line exceeds the limit; raw is then
// cut. The last line of the input may be returned with an error.
func (r *lineReader) line() (raw []byte, long bool, err error) {
	for {
		part, err := r.r.ReadSlice('\n')
		exceedsLimit := r.limit > 0 && int64(len(raw)+len(part)) > r.limit+1 // 1 for the line end
		long = long || exceedsLimit
		if !long { // the rest of a long line is read, but not kept
			raw = append(raw, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, long, err
		}
	}
}
