package proxy

import (
	"bytes"
)

// An eventBody is a stream of events that passes as it comes while there is nothing to judge, and
// event by event from the next one on where there is.
type eventBody struct {
	pieces
	e *faultyEvents
	// inside is set where a part of an event has passed, tail are the last bytes of it.
	inside bool
	tail   []byte
}

func (b *eventBody) Read(to []byte) (int, error) {
	e := b.e
	if len(b.buf) == 0 {
		e.passed()
	}
	if len(b.buf)+len(e.buf)+len(e.later) > 0 || b.err != nil || e.err != nil || e.f.fired != nil || e.f.p.Desk.judges() && !b.inside {
		return b.pieces.Read(to)
	}
	n, err := b.ReadCloser.Read(to)
	if n == 0 || !e.f.p.Desk.judges() {
		b.pass(to[:n])
		return n, err
	}
	passes := 0
	if b.inside {
		passes = n
		if end := eventEnd(append(b.tail, to[:n]...)); end >= 0 {
			passes = max(end-len(b.tail), 0)
		}
	}
	b.pass(to[:passes])
	if passes == n {
		return n, err
	}
	e.buf, e.err, b.inside = bytes.Clone(to[passes:n]), err, false
	if passes > 0 {
		return passes, nil
	}
	return b.pieces.Read(to)
}

func (b *eventBody) Close() error {
	b.e.passed()
	return b.ReadCloser.Close()
}

// pass notes where in an event the stream is.
func (b *eventBody) pass(passed []byte) {
	if len(passed) == 0 {
		return
	}
	last := bytes.Clone(passed[max(0, len(passed)-4):])
	if len(passed) < 4 {
		last = append(b.tail, passed...)
	}
	for end := eventEnd(last); end >= 0; end = eventEnd(last) {
		last = bytes.TrimLeft(last[end:], "\r\n")
	}
	b.inside, b.tail = len(last) > 0, last[max(0, len(last)-4):]
}
