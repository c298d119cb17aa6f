package process

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"mcpc/internal/wire"
)

// A Tail keeps the beginning and the end of a stream.
type Tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
	// first are the first maxFirst bytes of the stream, total is its length.
	first []byte
	total int
}

// maxFirst is the size of the stored beginning, which often says why a process failed.
const maxFirst = 4 << 10

// NewTail returns a Tail that keeps the last 64 KiB.
func NewTail() *Tail { return &Tail{limit: 64 << 10} }

// Add appends a line or a part of a line.
func (t *Tail) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += len(line)
	t.first = append(t.first, line[:min(len(line), maxFirst-len(t.first))]...)
	t.buf = append(t.buf, line...)
	if over := len(t.buf) - t.limit; over > t.limit { // rarely, because it copies the end
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// Text returns the end of the stream.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endLocked()
}

// endLocked returns the end of the stream.
func (t *Tail) endLocked() string { return string(t.buf[max(0, len(t.buf)-t.limit):]) }

// BothEnds returns the whole stream, or its first lines, a line with the number of omitted bytes, and
// its last lines. Without a whole first line it returns the end only.
func (t *Tail) BothEnds() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.endLocked()
	first := t.first[:bytes.LastIndexByte(t.first, '\n')+1]
	if t.total == len(end) || len(first) == 0 {
		return end
	}
	_, last, hasLineEnd := strings.Cut(end, "\n") // the first line of end may be cut off
	if !hasLineEnd {
		last = end
	}
	return fmt.Sprintf("%s… %d bytes\n%s", first, t.total-len(first)-len(last), last)
}

// Reset empties the Tail.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = nil
	t.first = nil
	t.total = 0
}

// Facts returns BothEnds as facts about a process; nil if the stream is empty.
func (t *Tail) Facts() *wire.ProcessFacts {
	if text := t.BothEnds(); text != "" {
		return &wire.ProcessFacts{Stderr: text}
	}
	return nil
}
