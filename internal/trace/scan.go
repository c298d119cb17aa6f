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
	prefix  []byte
}

const (
	// prefixWithin is how far into a line its bytes must begin to be peeked at.
	prefixWithin = 4 << 10
	// peekFrom is how large a message must be to be peeked at and not read.
	peekFrom = 1 << 10
)

var rawBegins = []byte(`,"raw":"`)

func (s *scanner) line(raw []byte, at int64) error {
	c := s.capture
	if s.reader.begun && !c.index.opening {
		if f, p, ok := s.peekLine(raw); ok {
			c.index.frame(f, nil, p, at)
			return nil
		}
	}
	line, err := parseLine(raw)
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.reader.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && s.reader.whole:
		s.reader.found("damaged_line", fmt.Sprintf("line %d is damaged and was left out: %v", s.reader.line, err))
	case err != nil:
	case line.Head != nil:
		s.reader.begun = true
		c.Heads = append(c.Heads, *line.Head)
		c.index.begin(*line.Head)
	case line.Frame != nil:
		s.frame(line.Frame, at)
	case line.End != nil:
		c.index.end(line.End)
	case line.Lost > 0:
		s.reader.found("lost_frames", fmt.Sprintf("line %d: %d frames were not recorded, because the disk was too slow", s.reader.line, line.Lost))
	}
	return nil
}

func (s *scanner) frame(f *wire.Frame, at int64) {
	if f.Kind != wire.Body && f.Kind != wire.Event {
		s.capture.index.frame(f, nil, peeked{}, at)
		return
	}
	m := wire.ParseMessage(f.Raw)
	p := peeked{traits: m.Traits(), size: f.Bytes()}
	if m.Kind == wire.Response {
		result, _ := m.ResultMembers()
		flag, _ := result.Get("isError")
		p.toolError = string(flag) == "true"
	}
	s.capture.index.frame(f, m, p, at)
}

// peekLine reads a line with a large message by its beginning, where the line is
// as a Recorder writes it: its bytes stand last.
func (s *scanner) peekLine(raw []byte) (f *wire.Frame, p peeked, ok bool) {
	begins := bytes.Index(raw[:min(len(raw), prefixWithin)], rawBegins)
	if begins < 0 || len(raw)-begins < peekFrom || !bytes.HasSuffix(raw, []byte(`"}`)) {
		return nil, p, false
	}
	if p, ok = peek(raw[begins+len(rawBegins) : len(raw)-len(`"}`)]); !ok {
		return nil, p, false
	}
	s.prefix = append(append(s.prefix[:0], raw[:begins]...), '}')
	line, err := parseLine(s.prefix)
	if err != nil || line.Frame == nil || line.Frame.Dir != wire.Received || line.Frame.Kind > wire.Event || line.Frame.Kind == wire.Head {
		return nil, p, false
	}
	if line.Frame.Size > 0 {
		p.size = line.Frame.Size
	}
	return line.Frame, p, true
}
