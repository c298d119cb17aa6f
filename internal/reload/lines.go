package reload

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// A lineQueue holds lines for a process, so that a process that does not read never delays the
// messages in the other direction.
type lineQueue struct {
	mu sync.Mutex
	// changed is signalled when a field below has changed.
	changed sync.Cond
	lines   [][]byte
	size    int // bytes of lines
	// isClosed is set when no line follows; isBroken when the process no longer reads.
	isClosed, isBroken bool
}

// newLineQueue returns an empty queue.
func newLineQueue() *lineQueue {
	q := &lineQueue{}
	q.changed.L = &q.mu
	return q
}

// maxQueued is how many bytes may wait for a process before the client has to wait.
const maxQueued = 1 << 20

// add appends a line. It never waits.
func (q *lineQueue) add(line []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isBroken {
		q.lines = append(q.lines, line)
		q.size += len(line)
		q.changed.Broadcast()
	}
}

// close lets writeTo close its writer after the last line.
func (q *lineQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isClosed = true
	q.changed.Broadcast()
}

// awaitRoom waits while too many bytes are queued.
func (q *lineQueue) awaitRoom() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > maxQueued && !q.isBroken {
		q.changed.Wait()
	}
}

// writeTo writes the lines to a process until the queue is closed or the process no longer reads.
func (q *lineQueue) writeTo(w io.WriteCloser) {
	defer w.Close()
	for {
		q.mu.Lock()
		for len(q.lines) == 0 && !q.isClosed && !q.isBroken {
			q.changed.Wait()
		}
		lines := q.lines
		q.lines = nil
		q.mu.Unlock()
		if len(lines) == 0 {
			return
		}
		for _, line := range lines {
			_, err := w.Write(line)
			q.mu.Lock()
			q.size -= len(line)
			q.isBroken = q.isBroken || err != nil
			q.changed.Broadcast()
			q.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// abandon ends writeTo.
func (q *lineQueue) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.isBroken = true
	q.lines = nil
	q.changed.Broadcast()
}

// maxLine is the longest line that is passed on, in bytes.
const maxLine = 64 << 20

// eachLine calls handle with each line of a stream and its line end. A last line without one gets
// one. It returns at the end of the stream, or at a line longer than maxLine.
func eachLine(from io.Reader, handle func(line []byte)) {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
			continue
		}
		if err != nil && len(line) > 0 && len(line) <= maxLine {
			line = append(line, '\n')
		}
		if len(line) > 0 && len(line) <= maxLine {
			handle(line)
		}
		if err != nil {
			return
		}
		line = nil
	}
}
