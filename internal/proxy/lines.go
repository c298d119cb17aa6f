package proxy

import (
	"bytes"
	"io"
	"slices"
	"sync"
)

// An outlet writes to one program. It forwards raw bytes, and inserts lines from other places
// between two lines of them. Callers of write lock it.
type outlet struct {
	sync.Mutex
	connected sync.Once
	writer    io.Writer
	// inLine is set if the last raw bytes ended inside a line. Then insertions are the lines to write
	// after it.
	inLine     bool
	insertions []byte
	// delayed holds lines that are sent after later ones.
	delayed delayedMessages
	silent  bool // nothing is written any more
}

// connect sets the writer. Each user of the outlet calls it first; later calls have no effect. It
// does not wait for a writer that blocks.
func (o *outlet) connect(to io.Writer) { o.connected.Do(func() { o.writer = to }) }

// writeRaw writes bytes that need not end with a line. Waiting insertions follow the first line end
// possible. b is not empty.
func (o *outlet) writeRaw(b []byte) error {
	o.Lock()
	defer o.Unlock()
	if end := bytes.LastIndexByte(b, '\n') + 1; len(o.insertions) > 0 && end > 0 {
		b = slices.Concat(b[:end], o.insertions, b[end:])
		o.insertions = nil
	}
	o.inLine = b[len(b)-1] != '\n'
	return o.write(b)
}

// writeLines writes whole lines, and after each one the delayed lines that are due.
func (o *outlet) writeLines(lines ...[]byte) error {
	o.Lock()
	defer o.Unlock()
	for _, line := range lines {
		if len(line) == 0 { // nothing is sent in place of a message
			continue
		}
		if err := o.writeWhole(slices.Concat(line, o.delayed.advance())); err != nil {
			return err
		}
	}
	return nil
}

// release writes the delayed lines.
func (o *outlet) release() error {
	o.Lock()
	defer o.Unlock()
	return o.writeWhole(o.delayed.drain())
}

// silence suppresses all later output.
func (o *outlet) silence() {
	o.Lock()
	defer o.Unlock()
	o.silent = true
}

// writeWhole writes whole lines, after the current line if one is incomplete. The outlet is locked.
func (o *outlet) writeWhole(lines []byte) error {
	if o.inLine {
		o.insertions = append(o.insertions, lines...)
		return nil
	}
	return o.write(lines)
}

// write writes bytes at once. The outlet is locked.
func (o *outlet) write(b []byte) error {
	if o.silent || len(b) == 0 {
		return nil
	}
	_, err := o.writer.Write(b)
	return err
}

// A splitter forwards the bytes written to it. While the Desk may intervene, it passes whole lines
// to handleLine instead, beginning with the next one. A line longer than maxMessage is forwarded as
// it is.
type splitter struct {
	pipe       *Pipe
	outlet     *outlet
	handleLine func(line []byte, whole bool) error
	begin      []byte // the beginning of a line for handleLine
	inLine     bool   // the beginning of the current line was forwarded
}

// Write handles one line, or what there is of it, in each round: raw if its beginning was forwarded
// or nothing intervenes, collected in begin otherwise.
func (s *splitter) Write(b []byte) (n int, err error) {
	n = len(b)
	for len(b) > 0 && err == nil {
		end := bytes.IndexByte(b, '\n') + 1
		switch {
		case len(s.begin) == 0 && !s.pipe.mayIntervene():
			s.inLine = b[len(b)-1] != '\n'
			return n, s.outlet.writeRaw(b)
		case end == 0 && s.inLine:
			return n, s.outlet.writeRaw(b)
		case s.inLine:
			s.inLine = false
			err = s.outlet.writeRaw(b[:end])
		case end == 0 && len(s.begin)+len(b) < maxMessage:
			s.begin = append(s.begin, b...)
			return n, nil
		case end == 0:
			line := append(s.begin, b...)
			s.begin = nil
			s.inLine = true
			return n, s.outlet.writeRaw(line)
		default:
			line := append(s.begin, b[:end]...) // handleLine may keep it
			s.begin = nil
			err = s.handleLine(line, true)
		}
		b = b[end:]
	}
	return n, err
}

// flush passes on a last line without a line end.
func (s *splitter) flush() error {
	if len(s.begin) == 0 {
		return nil
	}
	line := s.begin
	s.begin = nil
	return s.handleLine(line, false)
}

// delayedMessages are messages that are sent after later ones.
type delayedMessages []delayedMessage

// A delayedMessage is sent after the next remaining messages.
type delayedMessage struct {
	raw       []byte
	remaining int64
}

// advance counts one sent message and returns the messages that are due after it.
func (h *delayedMessages) advance() []byte {
	var ready []byte
	for i := range *h {
		(*h)[i].remaining--
		if (*h)[i].remaining <= 0 {
			ready = append(ready, (*h)[i].raw...)
		}
	}
	*h = slices.DeleteFunc(*h, func(m delayedMessage) bool { return m.remaining <= 0 })
	return ready
}

// drain returns the messages that are left.
func (h *delayedMessages) drain() []byte {
	var ready []byte
	for _, m := range *h {
		ready = append(ready, m.raw...)
	}
	*h = nil
	return ready
}
