package capture

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
	// begun is set once a head was read.
	begun bool
	// number and whole are those of the line.
	number int
	whole  bool
	// index is that of the line's run.
	index *index
}

func (s *scanner) found(rule, text string) {
	s.capture.findings = append(s.capture.findings, wire.Finding{Rule: rule, Level: wire.Warning, Text: text})
}

const (
	// prefixWithin is how far into a line its bytes must begin to be read quickly.
	prefixWithin = 4 << 10
	// peekFrom is how large a message must be to be peeked at and not read.
	peekFrom = 1 << 10
)

var rawBegins = []byte(`,"raw":"`)

// orNone is the error of a file that ends before it began as a capture does.
func (s *scanner) orNone() error {
	if s.begun {
		return nil
	}
	return ErrNoCapture
}

// looked gives a line to the index, after what was learned of it already.
func (s *scanner) looked(l *batchLine) error {
	at := span{l.at, int(l.behind - l.at)}
	s.number, s.whole = l.number, l.whole
	s.index = s.capture.indexOf(l.mark)
	if !l.quick || !s.begun || s.index == nil || s.index.finished || s.index.opening && l.message == nil && l.frame.Kind != wire.Head {
		return s.line(l.raw, at)
	}
	s.index.frame(&l.frame, l.message, &l.peeked, at)
	return nil
}

func (s *scanner) line(raw []byte, at span) error {
	c := s.capture
	line, err := parseLong(raw)
	s.index = c.indexOf([]byte(line.In))
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && s.whole:
		s.found("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", s.number, err))
		// Behind where a recorder was killed another one's line may go on. In a string its
		// beginning would be escaped.
		if i := bytes.LastIndex(raw, []byte(markBegins)); i > 0 {
			return s.line(raw[i:], span{at.at + int64(i), at.length - i})
		}
	case err != nil:
	case line.Head != nil:
		s.begun = true
		c.begin(*line.Head, at)
	case s.index == nil:
		s.found("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", s.number))
	case s.index.finished:
		return errFinished
	case line.Frame != nil:
		s.frame(line.Frame, at)
	case line.End != nil:
		s.index.end(line.End, at)
	case line.Next > 0:
		s.index.next()
	case line.Carried != nil:
		s.index.carried()
	case line.Lost > 0:
		s.found(ruleLost, fmt.Sprintf(textLost, s.number, line.Lost))
	}
	return nil
}

const (
	ruleLost = "lost_frames"
	textLost = "line %d: %d frames were omitted from the recording"
)

// Lost is how many frames the recorders left out, by the Findings of a Capture.
func Lost(findings []wire.Finding) (frames int) {
	for _, f := range findings {
		var line, count int
		if f.Rule == ruleLost {
			_, _ = fmt.Sscanf(f.Text, textLost, &line, &count)
			frames += count
		}
	}
	return frames
}

func (s *scanner) frame(f *wire.Frame, at span) {
	if f.Kind == wire.Head && f.HTTP == nil { // no Recorder writes one
		f.HTTP = &wire.HTTPHead{}
	}
	if f.Kind != wire.Body && f.Kind != wire.Event {
		s.index.frame(f, nil, &peeked{size: f.Bytes()}, at)
		return
	}
	m := &wire.Message{}
	p := read(m, f)
	s.index.frame(f, m, &p, at)
}

// markBegins is how a line begins that says whose it is.
const markBegins = `{"in":"`

// cutMark takes apart whose a line says that it is, nil where it does not, and the
// members behind that.
func cutMark(raw []byte) (mark, members []byte, ok bool) {
	text, marked := cutText(raw, markBegins)
	if !marked {
		members, ok = cutText(raw, "{")
		return nil, members, ok
	}
	end := bytes.IndexByte(text, '"')
	if end < 0 || end+1 == len(text) || text[end+1] != ',' {
		return nil, nil, false
	}
	for _, c := range text[:end] {
		if c < '0' || c > 'z' || c == '\\' {
			return nil, nil, false
		}
	}
	return text[:end], text[end+2:], true
}
