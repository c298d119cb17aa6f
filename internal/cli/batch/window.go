package batch

import "sync"

// mostLines is how many lines there are at most between the reader and the writer, and mostHeld
// about how many bytes: a call that takes long holds up the calls behind it, and not the memory.
const maxLines = 1024

// Tests set a smaller limit.
var maxHeld = 32 << 20

// A window is what is between the reader and the writer, in the order of the lines.
type window struct {
	// over is closed when nothing more is to begin.
	ended chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	lines   []*batchLine
	bytes   int // of lines that wait, and of results that do
	// at most so many, but always one.
	maxLines, maxBytes int
}

func newWindow(lines, bytes int) *window {
	w := &window{ended: make(chan struct{}), maxLines: lines, maxBytes: bytes}
	w.changed.L = &w.mu
	return w
}

// wait waits for room; false where nothing more is to begin.
func (w *window) waitForRoom() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.isOver() && len(w.lines) > 0 && (len(w.lines) >= w.maxLines || w.bytes >= w.maxBytes) {
		w.changed.Wait()
	}
	return !w.isOver()
}

// enter takes a line in; false where nothing more is to begin.
func (w *window) add(l *batchLine) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver() {
		return false
	}
	w.lines = append(w.lines, l)
	w.bytes += len(l.raw)
	return true
}

// finish marks a line as done, and passes the lines whose turn it is to write, which runs
// under the lock, one call at a time.
func (w *window) finish(l *batchLine, write func([]*batchLine)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(l.out) - len(l.raw)
	l.raw = nil
	l.ready = true
	n := 0
	for n < len(w.lines) && w.lines[n].ready {
		w.bytes -= len(w.lines[n].out)
		n++
	}
	if n == 0 {
		return
	}
	write(w.lines[:n])
	left := copy(w.lines, w.lines[n:])
	clear(w.lines[left:])
	w.lines = w.lines[:left]
	w.changed.Broadcast()
}

// alone runs f while no worker writes.
func (w *window) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// end lets nothing more begin.
func (w *window) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isOver() {
		close(w.ended)
	}
	w.changed.Broadcast()
}

func (w *window) isOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// drain waits until what has begun has ended.
func (w *window) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) > 0 {
		w.changed.Wait()
	}
}
