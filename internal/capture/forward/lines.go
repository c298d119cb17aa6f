package forward

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// An outlet is what is written to one side of a Pipe: bytes as they come, and lines from
// elsewhere between two of them.
type outlet struct {
	mu sync.Mutex
	to io.Writer
	// inside is set where a part of a line has passed, and due are the lines that come
	// behind it.
	inside bool
	due    []byte
	// behind are lines that wait for others. Silent lets nothing pass any more.
	behind heldBack
	silent bool
}

// pass writes bytes, which need not end with a line.
func (o *outlet) pass(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if end := bytes.LastIndexByte(b, '\n') + 1; len(o.due) > 0 && end > 0 {
		b, o.due = slices.Concat(b[:end], o.due, b[end:]), nil
	}
	o.inside = b[len(b)-1] != '\n'
	return o.write(b)
}

// lines writes lines, and behind each those that have waited for it.
func (o *outlet) lines(lines ...[]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range lines {
		if len(line) == 0 {
			continue
		}
		if err := o.whole(slices.Concat(line, o.behind.passed())); err != nil {
			return err
		}
	}
	return nil
}

// release writes the lines that still wait for others.
func (o *outlet) release() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.whole(o.behind.all())
}

// silence lets nothing pass any more.
func (o *outlet) silence() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.silent = true
}

// whole is called with mu locked, as write is.
func (o *outlet) whole(lines []byte) error {
	if o.inside {
		o.due = append(o.due, lines...)
		return nil
	}
	return o.write(lines)
}

func (o *outlet) write(b []byte) error {
	if o.silent || len(b) == 0 {
		return nil
	}
	_, err := o.to.Write(b)
	return err
}

// A splitter passes on what is written to it, as it comes. Where lines are judged it gives each
// with its end to take, from the next one on. One that is too long to be recorded is not judged.
type splitter struct {
	judging func() bool
	to      *outlet
	take    func(line []byte, whole bool) error
	// line is the beginning of one that is to be judged; inside is set where the beginning of
	// one has passed.
	line   []byte
	inside bool
}

func (s *splitter) Write(b []byte) (n int, err error) {
	n = len(b)
	for len(b) > 0 && err == nil {
		end := bytes.IndexByte(b, '\n') + 1
		switch {
		case len(s.line) == 0 && !s.judging():
			s.inside = b[len(b)-1] != '\n'
			return n, s.to.pass(b)
		case end == 0 && s.inside:
			return n, s.to.pass(b)
		case s.inside:
			s.inside = false
			err = s.to.pass(b[:end])
		case end == 0 && len(s.line)+len(b) < mostMessage:
			s.line = append(s.line, b...)
			return n, nil
		case end == 0:
			line := append(s.line, b...)
			s.line, s.inside = nil, true
			return n, s.to.pass(line)
		default:
			line := append(s.line, b[:end]...) // which may be kept
			s.line = nil
			err = s.take(line, true)
		}
		b = b[end:]
	}
	return n, err
}

// end passes on a line without an end.
func (s *splitter) end() error {
	if len(s.line) == 0 {
		return nil
	}
	line := s.line
	s.line = nil
	return s.take(line, false)
}
