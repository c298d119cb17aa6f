package rows

import (
	"bytes"
	"errors"
	"fmt"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A scanner gives the lines of a capture to its index, and reads no more of them
// than that needs.
type scanner struct {
	capture *Capture
	// begun is set once a head was read.
	begun bool
	// index is that of the line's run.
	index *index
}

func (s *scanner) found(rule, text string) {
	s.capture.findings = append(s.capture.findings, wire.Finding{Rule: rule, Level: wire.Warning, Text: text})
}

// orNone is the error of a file that ends before it began as a capture does.
func (s *scanner) orNone() error {
	if s.begun {
		return nil
	}
	return ErrNoCapture
}

// line gives a line to the index of its run.
func (s *scanner) line(l *chunkLine) error {
	c, line, err := s.capture, l.parsed, l.err
	at := span{l.at, int(l.behind - l.at)}
	s.index = c.indexOf([]byte(line.In))
	var version *capture.VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && l.isWhole:
		s.found("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", l.number, err))
		// Behind where a recorder was killed another one's line may go on. In a string its
		// beginning would be escaped.
		if i := bytes.LastIndex(l.raw, []byte(capture.MarkBegins)); i > 0 {
			rest := *l
			rest.raw = l.raw[i:]
			rest.at += int64(i)
			rest.parse(&capture.Parser{})
			return s.line(&rest)
		}
	case err != nil:
	case line.Head != nil:
		s.begun = true
		c.begin(*line.Head, at)
	case s.index == nil:
		s.found("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", l.number))
	case s.index.finished:
		return errFinished
	case line.Frame != nil:
		s.frame(line.Frame, l.message, at)
	case line.End != nil:
		s.index.end(line.End, at)
	case line.Next > 0:
		s.index.next()
	case line.Carried != nil:
		s.index.carried()
	case line.Lost > 0:
		s.found(ruleLost, fmt.Sprintf(textLost, l.number, line.Lost))
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

func (s *scanner) frame(f *wire.Frame, m *wire.Message, at span) {
	if f.Kind == wire.Head && f.HTTP == nil { // no Recorder writes one
		f.HTTP = &wire.HTTPHead{}
	}
	s.index.frame(f, m, at)
}
