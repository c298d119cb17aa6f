package trace

import (
	"bytes"
	"errors"
	"fmt"

	"mcpc/internal/wire"
)

// A scanner gives the lines of a capture to its index, and reads no more of them
// than that needs.
type scanner struct {
	capture *Capture
	reader  *Reader
	// index is that of the line's run.
	index *index
}

const (
	// prefixWithin is how far into a line its bytes must begin to be read quickly.
	prefixWithin = 4 << 10
	// peekFrom is how large a message must be to be peeked at and not read.
	peekFrom = 1 << 10
)

var rawBegins = []byte(`,"raw":"`)

func (s *scanner) line(raw []byte, at stretch) error {
	c := s.capture
	if s.reader.begun && s.quick(raw, at) {
		return nil
	}
	line, err := parseLong(raw)
	s.index = c.indexOf(line.In)
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.reader.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && s.reader.whole:
		s.reader.found("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", s.reader.line, err))
		// Behind where a recorder was killed another one's line may go on. In a string its
		// beginning would be escaped.
		if i := bytes.LastIndex(raw, []byte(markBegins)); i > 0 {
			return s.line(raw[i:], stretch{at.at + int64(i), at.length - i})
		}
	case err != nil:
	case line.Head != nil:
		s.reader.begun = true
		c.begin(*line.Head, at)
	case s.index == nil:
		s.reader.found("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", s.reader.line))
	case line.Frame != nil:
		s.frame(line.Frame, at)
	case line.End != nil:
		s.index.end(line.End, at)
	case line.Next > 0:
		s.index.next()
	case line.Carried != nil:
		s.index.carried()
	case line.Lost > 0:
		s.reader.found("lost_frames", fmt.Sprintf("line %d: %d frames were omitted from the recording", s.reader.line, line.Lost))
	}
	return nil
}

func (s *scanner) frame(f *wire.Frame, at stretch) {
	if f.Kind != wire.Body && f.Kind != wire.Event {
		s.index.frame(f, nil, peeked{size: f.Bytes()}, at)
		return
	}
	s.message(f, at)
}

// message gives a frame with a message to the index.
func (s *scanner) message(f *wire.Frame, at stretch) {
	m := wire.ParseMessage(f.Raw)
	p := peeked{traits: m.Traits(), size: f.Bytes()}
	if m.Kind == wire.Response {
		result, _ := m.ResultMembers()
		flag, _ := result.Get("isError")
		p.toolError = string(flag) == "true"
	}
	s.index.frame(f, m, p, at)
}
