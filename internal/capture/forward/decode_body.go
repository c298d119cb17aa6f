package forward

import (
	"bufio"
	"bytes"
	"compress/gzip"
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

// readWhole calls take with all of a stream that is decoded, once it has ended.
func (s *halfStream) readWhole(src io.Reader, fragment bool, take func(raw []byte)) {
	raw, err := io.ReadAll(io.LimitReader(src, mostMessage+1))
	switch {
	case len(raw) > mostMessage:
		s.w.tell(1)
	case len(raw) > 0 && !fragment && err == nil:
		take(raw)
	}
}

// eachEvent calls take for every server-sent event.
func (s *halfStream) eachEvent(src io.Reader, fragment bool, take func(sse.Event)) {
	for events := sse.NewReader(src, mostMessage); ; fragment = false {
		ev, err := events.Next()
		if _, ok := errors.AsType[sse.TooLargeError](err); ok {
			s.w.tell(1)
		}
		if !fragment && !errors.Is(err, errGap) && (err == nil || len(ev.Dropped) > 0) {
			take(ev)
		}
		if err != nil {
			return
		}
		s.release()
	}
}

// isPlain and isZipped tell the values of Content-Encoding that are known. What was forwarded is
// not touched where one is undone.
func isPlain(encoding string) bool  { return encoding == "" || encoding == "identity" }
func isZipped(encoding string) bool { return encoding == "gzip" || encoding == "x-gzip" }

// gzipBody looks at the first bytes only at the first Read.
type gzipBody struct {
	src    io.Reader
	reader *gzip.Reader
}

func (g *gzipBody) Read(b []byte) (n int, err error) {
	if g.reader == nil {
		if g.reader, err = gzip.NewReader(g.src); err != nil {
			return 0, err
		}
	}
	return g.reader.Read(b)
}
