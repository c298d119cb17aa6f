package process

import (
	"sync"

	"mcpc/internal/wire"
)

// Tail keeps the last bytes of a stream.
type Tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

// NewTail keeps the last 64 KiB.
func NewTail() *Tail { return &Tail{limit: 64 << 10} }

// Add adds a line or a part of one.
func (t *Tail) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, line...)
	if over := len(t.buf) - t.limit; over > t.limit {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
}

// Text is what it holds.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[max(0, len(t.buf)-t.limit):])
}

// Reset forgets what it holds.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = nil
}

// Facts are what it holds, as facts; nil where that is nothing.
func (t *Tail) Facts() *wire.ProcessFacts {
	if text := t.Text(); text != "" {
		return &wire.ProcessFacts{Stderr: text}
	}
	return nil
}
