package process

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"mcpc/internal/wire"
)

// Tail keeps the last bytes of a stream, and the first ones.
type Tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
	// first are the first maxFirst bytes of all that was added, and total is their number.
	first []byte
	total int
}

// maxFirst is how much of the beginning is kept: it often says why a process failed.
const maxFirst = 4 << 10

// NewTail keeps the last 64 KiB.
func NewTail() *Tail { return &Tail{limit: 64 << 10} }

// Add adds a line or a part of one.
func (t *Tail) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += len(line)
	t.first = append(t.first, line[:min(len(line), maxFirst-len(t.first))]...)
	t.buf = append(t.buf, line...)
	if over := len(t.buf) - t.limit; over > t.limit {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// Text returns the end of the stream.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endLocked()
}

func (t *Tail) endLocked() string { return string(t.buf[max(0, len(t.buf)-t.limit):]) }

// BothEnds returns the stream, or its first lines, a line that says what is left out, and its last lines.
func (t *Tail) BothEnds() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.endLocked()
	first := t.first[:bytes.LastIndexByte(t.first, '\n')+1]
	if t.total == len(end) || len(first) == 0 {
		return end
	}
	_, last, isCut := strings.Cut(end, "\n")
	if !isCut {
		last = end
	}
	return fmt.Sprintf("%s… %d bytes\n%s", first, t.total-len(first)-len(last), last)
}

// Reset forgets what it holds.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = nil
	t.first = nil
	t.total = 0
}

// Facts returns both ends as facts; nil if nothing was added.
func (t *Tail) Facts() *wire.ProcessFacts {
	if text := t.BothEnds(); text != "" {
		return &wire.ProcessFacts{Stderr: text}
	}
	return nil
}
