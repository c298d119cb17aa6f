package proxy

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// An outlet is what is written to one program: bytes as they come, and lines from
// elsewhere between two of them.
type outlet struct {
	sync.Mutex
	open sync.Once
	to   io.Writer
	// inside is set where a part of a line has passed, and due are the lines that come
	// behind it.
	inLine  bool
	waiting []byte
	// Behind are lines that wait for others. With silent set nothing passes any more.
	delayed delayedMessages
	silent  bool
}

// Connect says where to write to. Each that uses the outlet calls it first; it never waits for one
// that writes.
func (o *outlet) connect(to io.Writer) { o.open.Do(func() { o.to = to }) }

// pass writes bytes, which need not end with a line.
func (o *outlet) writeRaw(b []byte) error {
	o.Lock()
	defer o.Unlock()
	if end := bytes.LastIndexByte(b, '\n') + 1; len(o.waiting) > 0 && end > 0 {
		b = slices.Concat(b[:end], o.waiting, b[end:])
		o.waiting = nil
	}
	o.inLine = b[len(b)-1] != '\n'
	return o.write(b)
}

// Lines writes lines, and behind each those that have waited for it.
func (o *outlet) writeLines(lines ...[]byte) error {
	o.Lock()
	defer o.Unlock()
	for _, line := range lines {
		if len(line) == 0 {
			continue
		}
		if err := o.writeWhole(slices.Concat(line, o.delayed.advance())); err != nil {
			return err
		}
	}
	return nil
}

// Release writes the lines that still wait for others.
func (o *outlet) release() error {
	o.Lock()
	defer o.Unlock()
	return o.writeWhole(o.delayed.drain())
}

// Silence lets nothing pass any more.
func (o *outlet) silence() {
	o.Lock()
	defer o.Unlock()
	o.silent = true
}

// whole is called with the outlet locked, as Write is.
func (o *outlet) writeWhole(lines []byte) error {
	if o.inLine {
		o.waiting = append(o.waiting, lines...)
		return nil
	}
	return o.write(lines)
}

// Write writes bytes at once. The caller has locked the outlet.
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
	p          *Pipe
	to         *outlet
	handleLine func(line []byte, whole bool) error
	// line is the beginning of one that is to be judged; inside is set where the beginning of
	// one has passed.
	line   []byte
	inLine bool
}

func (s *splitter) Write(b []byte) (n int, err error) {
	n = len(b)
	for len(b) > 0 && err == nil {
		end := bytes.IndexByte(b, '\n') + 1
		switch {
		case len(s.line) == 0 && !s.p.mayIntervene():
			s.inLine = b[len(b)-1] != '\n'
			return n, s.to.writeRaw(b)
		case end == 0 && s.inLine:
			return n, s.to.writeRaw(b)
		case s.inLine:
			s.inLine = false
			err = s.to.writeRaw(b[:end])
		case end == 0 && len(s.line)+len(b) < maxMessage:
			s.line = append(s.line, b...)
			return n, nil
		case end == 0:
			line := append(s.line, b...)
			s.line = nil
			s.inLine = true
			return n, s.to.writeRaw(line)
		default:
			line := append(s.line, b[:end]...) // which may be kept
			s.line = nil
			err = s.handleLine(line, true)
		}
		b = b[end:]
	}
	return n, err
}

// End passes on a line without an end.
func (s *splitter) flush() error {
	if len(s.line) == 0 {
		return nil
	}
	line := s.line
	s.line = nil
	return s.handleLine(line, false)
}

// lateMessages are messages that are to come behind others.
type delayedMessages []delayedMessage

// A lateMessage comes behind the next After ones.
type delayedMessage struct {
	raw       []byte
	remaining int64
}

// Passed says that a message has come, and gives those that it was the last one before.
func (h *delayedMessages) advance() (ready []byte) {
	for i := range *h {
		(*h)[i].remaining--
		if (*h)[i].remaining <= 0 {
			ready = append(ready, (*h)[i].raw...)
		}
	}
	*h = slices.DeleteFunc(*h, func(m delayedMessage) bool { return m.remaining <= 0 })
	return ready
}

// All gives all that are left.
func (h *delayedMessages) drain() (ready []byte) {
	for _, m := range *h {
		ready = append(ready, m.raw...)
	}
	*h = nil
	return ready
}
