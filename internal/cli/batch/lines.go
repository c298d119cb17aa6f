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

// A batchLine is one line of the input on its way to its result.
type batchLine struct {
	number int
	raw    []byte
	// bad is why the line is none.
	err error
	// out is the result, once it is ready. A line that was left out has none.
	ready   bool
	kind    wire.Kind
	out     []byte
	omitted bool
}

// A lineReader gives the lines of the input that are not blank, numbered from 1.
type lineReader struct {
	r      *bufio.Reader
	limit  int64 // of a line in bytes; below 1 there is none
	number int
	// ended is set once the input could not be read any more.
	ended bool
}

// next gives a line until io.EOF; one that is too long is passed over and says so, and
// so does the place from which on nothing could be read.
func (r *lineReader) next() (*batchLine, error) {
	for {
		raw, long, err := r.line()
		r.number++
		if r.number == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
		}
		raw = bytes.TrimSpace(raw)
		switch l := (&batchLine{number: r.number, raw: raw}); {
		case long:
			l.raw, l.err = nil, usage.New(
				fmt.Sprintf("the line is longer than %d bytes", r.limit),
				"--max-message-size SIZE raises the limit, 0 removes it",
			)
			return l, nil
		case len(raw) > 0:
			return l, nil
		case err == io.EOF || r.ended:
			return nil, io.EOF
		case err != nil:
			r.ended = true
			l.err = fmt.Errorf("reading the calls: %w", usage.Bare(err))
			return l, nil
		}
	}
}

// line reads up to a line end. The last line may come with an err.
func (r *lineReader) line() (raw []byte, long bool, err error) {
	for {
		part, err := r.r.ReadSlice('\n')
		long = long || r.limit > 0 && int64(len(raw)+len(part)) > r.limit+1
		if !long {
			raw = append(raw, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, long, err
		}
	}
}
