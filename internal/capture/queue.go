package capture

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

// A queue has the frames that wait to be written. add never waits for the disk, unless many or large frames wait.
type queue struct {
	// maxBytes is about how many bytes are recorded, 0 for any number; full is set when so many were added.
	maxBytes int64
	full     atomic.Bool
	// flush writes the frames. A timer calls it.
	flush func()

	// mu guards the fields below.
	mu sync.Mutex
	// room is signalled when fewer frames wait, and when the disk is waited for.
	room                  sync.Cond
	waiting, spare        []queuedFrame
	buffers, emptyBuffers [][]byte // the memory of the copied bytes of the waiting frames, and memory that is used again
	// bytes is the weight of the waiting frames, taken that of the frames that are being written; frames counts both.
	waitingBytes, composingBytes, frames int
	// unwritten counts the frames that are not in the file yet. A frame whose line is in the Recorder's buffer is one.
	unwritten int
	// onDisk counts the goroutines that wait for the disk.
	diskWaiters int
	// total is the weight of all frames that were added.
	total int64
	lost  int
	timer *time.Timer
	// begun is set once a frame was added, closed once no more frames are taken.
	begun, closed bool
}

// A queuedFrame is a frame that waits to be written.
type queuedFrame struct {
	wire.Frame
	// safe is set if the secrets of the frame are hidden already.
	safe bool
}

// weight returns how many bytes the frame counts for.
func (c queuedFrame) weight() int { return len(c.Raw) + frameOverhead }

// lightest is the weight of a frame without bytes, usualFrames about how many small frames wait until
// they are written.
const frameOverhead, usualBatch = 200, 448

// add adds a frame, or counts it as lost if enough is recorded. It reports whether it is the first frame.
func (q *queue) add(frame queuedFrame) (isFirst bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.hasRoom(len(frame.Raw)) {
		q.room.Wait()
	}
	if q.closed {
		return false
	}
	if q.full.Load() {
		q.lost++
		q.flushSoon()
		return false
	}
	q.total += int64(frame.weight())
	if q.maxBytes > 0 && q.total >= q.maxBytes {
		q.full.Store(true)
	}
	isFirst = !q.begun
	q.begun = true
	waitingBefore := q.waitingBytes
	frame.Raw = q.copyBytes(frame.Raw)
	q.waiting = append(q.growWaiting(), frame)
	q.waitingBytes += frame.weight()
	q.frames++
	q.unwritten++
	q.flushSoon()
	if waitingBefore < minWriteBytes && q.waitingBytes >= minWriteBytes {
		q.timer.Reset(0)
	}
	return isFirst
}

// lose counts frames that the caller left out.
func (q *queue) addLost(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
	if !q.closed {
		q.flushSoon()
	}
}

// flushSoon sees to it that waiting frames are written within writeWithin. The caller holds mu.
func (q *queue) flushSoon() {
	if q.timer == nil {
		q.timer = time.AfterFunc(maxWriteDelay, q.flush)
	}
}

// take removes and returns the waiting frames, the memory of their bytes, and the number of lost frames.
func (q *queue) takeWaiting() (frames []queuedFrame, texts [][]byte, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames = q.waiting
	texts = q.buffers
	lost = q.lost
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	q.composingBytes += q.waitingBytes
	q.waitingBytes = 0
	q.lost = 0
	q.waiting = q.spare
	q.spare = nil
	q.buffers = nil
	return frames, texts, lost
}

// written notes that the lines of frames are in the file.
func (q *queue) markWritten(frames int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwritten -= frames
}

// isWorthWaiting reports whether frames are not in the file yet, and so few bytes that writing them takes no time.
func (q *queue) isWorthWaiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.unwritten > 0 && q.waitingBytes+q.composingBytes <= maxAwaitedBytes
}

// hasBegun reports whether a frame was added.
func (q *queue) hasBegun() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.begun
}

// close drops all frames that are added from now on.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.room.Broadcast()
}

// grown returns waiting with room for one more frame: first for a few frames, then for as many as are mostly written
// at once, then for twice as many each time.
func (q *queue) growWaiting() []queuedFrame {
	n := len(q.waiting)
	if n < cap(q.waiting) {
		return q.waiting
	}
	room := manyFrames
	if n > 0 {
		room = max(n, usualBatch)
	}
	return slices.Grow(q.waiting, room)
}

// hasRoom reports whether a frame with this many bytes need not wait.
func (q *queue) hasRoom(bytes int) bool {
	limit := maxQueuedBytes
	if q.frames >= manyFrames {
		limit = maxComposingBytes
		if q.diskWaiters > 0 {
			limit = maxUnwrittenBytes
		}
	}
	return q.frames == 0 || q.waitingBytes+q.composingBytes+bytes <= limit
}

// MaxCopied is how many bytes a frame has at most that a Recorder keeps a copy of: a Tap of which the
// caller may use the bytes again. A longer one is kept itself.
const MaxCopied = 4 << 10

const (
	bufferBytes     = 64 << 10
	maxEmptyBuffers = 32
)

// copied returns raw, or a copy of it in the texts.
func (q *queue) copyBytes(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > MaxCopied {
		return raw
	}
	last := len(q.buffers) - 1
	if last < 0 || bufferBytes-len(q.buffers[last]) < len(raw) {
		last++
		if n := len(q.emptyBuffers); n > 0 {
			q.buffers = append(q.buffers, q.emptyBuffers[n-1])
			q.emptyBuffers = q.emptyBuffers[:n-1]
		} else {
			q.buffers = append(q.buffers, make([]byte, 0, bufferBytes))
		}
	}
	from := len(q.buffers[last])
	q.buffers[last] = append(q.buffers[last], raw...)
	return q.buffers[last][from:len(q.buffers[last]):len(q.buffers[last])]
}

// reuse keeps the memory of frames that were written for later ones.
func (q *queue) reuse(frames []queuedFrame, buffers [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(frames) <= maxSpareFrames {
		q.spare = frames[:0]
	}
	for _, buffer := range buffers[:min(len(buffers), maxEmptyBuffers-len(q.emptyBuffers))] {
		q.emptyBuffers = append(q.emptyBuffers, buffer[:0])
	}
}

// finished notes that this many of the frames that were taken are lines now.
func (q *queue) markComposed(frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frames -= frames
	q.composingBytes -= bytes
	q.room.Broadcast()
}

// onDiskWhile calls f, which waits for the disk.
func (q *queue) withDiskWait(f func()) {
	q.addDiskWaiters(1)
	defer q.addDiskWaiters(-1)
	f()
}

// disk changes how many goroutines wait for the disk.
func (q *queue) addDiskWaiters(more int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.diskWaiters += more
	q.room.Broadcast()
}
