package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"mcpc/internal/sse"
)

// What is longer than mostMessage is left out and counted, a line or all of a
// stream; behind an event that is too long nothing is read any more.

// eachLine calls take for every line of a stream, without its end.
func (s *halfStream) eachLine(src io.Reader, fragment bool, take func(line []byte)) {
	lines := bufio.NewReaderSize(src, 16<<10)
	var line []byte
	for size := 0; ; {
		part, err := lines.ReadSlice('\n')
		if size += len(part); size <= mostMessage {
			line = append(line, part...)
		} else {
			line = nil
			s.release()
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case size > mostMessage:
			s.w.tell(1)
		case size > 0 && !fragment && !errors.Is(err, errGap):
			take(bytes.TrimRight(line, "\r\n"))
		}
		s.release()
		if line, size, fragment = nil, 0, false; err != nil {
			return
		}
	}
}

// eachEvent calls take for every server-sent event, and returns the error with which the stream ended.
func (s *halfStream) eachEvent(src io.Reader, fragment bool, take func(sse.Event)) error {
	for events := sse.NewReader(src, mostMessage); ; fragment = false {
		ev, err := events.Next()
		if _, ok := errors.AsType[sse.TooLargeError](err); ok {
			s.w.tell(1)
		}
		if !fragment && !errors.Is(err, errGap) && (err == nil || len(ev.Dropped) > 0) {
			take(ev)
		}
		if err != nil {
			return err
		}
		s.release()
	}
}

// A heldReader counts decoded bytes as those that are held, as pump does for others.
type heldReader struct {
	src io.Reader
	s   *halfStream
}

func (r heldReader) Read(to []byte) (int, error) {
	n, err := r.src.Read(to)
	if !r.s.hold(n) {
		return 0, errGap
	}
	return n, err
}
