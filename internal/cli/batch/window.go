package batch

import "sync"

// maxLines bounds the lines between the reader and the writer: while a call takes long, the results
// of later lines wait in memory.
const maxLines = 1024

// maxWindowBytes is about the number of bytes of these lines. Tests set a smaller limit.
var maxWindowBytes = 32 << 20

// A window has the lines between the reader and the writer, in order.
type window struct {
	// ended is closed when no more calls may begin.
	ended chan struct{}

	// mu guards the fields below; changed signals that lines were removed or the window ended.
	mu      sync.Mutex
	changed sync.Cond
	lines   []*batchLine
	bytes   int // the size of lines without a result, and of results that wait
	// maxLines and maxBytes are limits, but one line always fits.
	maxLines, maxBytes int
}

// newWindow returns an empty window with these limits.
func newWindow(maxLines, maxBytes int) *window {
	w := &window{ended: make(chan struct{}), maxLines: maxLines, maxBytes: maxBytes}
	w.changed.L = &w.mu
	return w
}

// waitForRoom waits until a line fits. It returns false if no more calls may begin.
func (w *window) waitForRoom() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	isFull := func() bool {
		exceedsLimit := len(w.lines) >= w.maxLines || w.bytes >= w.maxBytes
		return len(w.lines) > 0 && exceedsLimit // a single line always fits
	}
	for !w.isOver() && isFull() {
		w.changed.Wait()
	}
	return !w.isOver()
}

// add adds a line. It returns false if no more calls may begin.
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

// finish marks a line as ready. It removes the lines at the front that are ready, and passes them
// to write under the lock.
func (w *window) finish(l *batchLine, write func([]*batchLine)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(l.out) - len(l.raw)
	l.raw = nil
	l.ready = true
	readyCount := 0 // results are written in order: a line that is not ready holds back those after it
	for readyCount < len(w.lines) && w.lines[readyCount].ready {
		w.bytes -= len(w.lines[readyCount].out)
		readyCount++
	}
	if readyCount == 0 {
		return
	}
	write(w.lines[:readyCount])
	remaining := copy(w.lines, w.lines[readyCount:])
	clear(w.lines[remaining:]) // releases their memory
	w.lines = w.lines[:remaining]
	w.changed.Broadcast()
}

// withLock calls f under the lock.
func (w *window) withLock(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// end lets no more calls begin.
func (w *window) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isOver() {
		close(w.ended)
	}
	w.changed.Broadcast()
}

// isOver reports whether no more calls may begin. It needs no lock.
func (w *window) isOver() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// drain waits until all calls that have begun are finished.
func (w *window) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) > 0 {
		w.changed.Wait()
	}
}
