package capture

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/wire"
)

// A queue holds the frames that wait to be written. add does not wait for the disk unless many or large
// frames are queued.
type queue struct {
	// maxBytes is about how many bytes are recorded; 0 is no limit.
	maxBytes int64
	// full is set by add once maxBytes is reached.
	full atomic.Bool
	// flush writes the frames. The timer calls it.
	flush func()

	// mu guards the fields below.
	mu sync.Mutex
	// room is signalled when hasRoom may have changed.
	room sync.Cond
	// waiting are the frames that are not taken yet, spare is memory for later ones.
	waiting, spare []queuedFrame
	// buffers hold the copied bytes of the waiting frames, emptyBuffers are reused.
	buffers, emptyBuffers [][]byte
	// waitingBytes is the weight of the waiting frames.
	waitingBytes int
	// composingBytes is the weight of the taken frames that are not lines yet.
	composingBytes int
	// uncomposed counts the waiting frames and the taken ones that are not lines yet.
	uncomposed int
	// unwritten counts the frames that are not in the file yet. Their lines may be in the Recorder's buffer.
	unwritten int
	// diskWaiters counts the goroutines that wait for the disk.
	diskWaiters int
	// total is the weight of all frames that were added.
	total int64
	// lost counts the frames that were left out since takeWaiting.
	lost int
	// timer calls flush; nil if no flush is due.
	timer *time.Timer
	// begun is set once a frame was added.
	begun bool
	// closed is set once no more frames are added.
	closed bool
}

// A queuedFrame is a frame that waits to be written.
type queuedFrame struct {
	wire.Frame
	// safe is set if the secrets of the frame are hidden already.
	safe bool
}

// weight returns how many bytes the frame counts for in the limits.
func (c queuedFrame) weight() int { return len(c.Raw) + frameOverhead }

// frameOverhead is the weight of a frame without bytes.
const frameOverhead = 200

// usualBatch is about how many small frames are written at once.
const usualBatch = 448

// add queues a frame, or counts it as lost if maxBytes is reached. It waits while the queue has no
// room. It reports whether the frame is the first one. A frame that is added after close is
// dropped.
func (q *queue) add(frame queuedFrame) bool {
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
	isFirst := !q.begun
	q.begun = true
	waitingBefore := q.waitingBytes
	frame.Raw = q.copyBytes(frame.Raw)
	q.waiting = append(q.growWaiting(), frame)
	q.waitingBytes += frame.weight()
	q.uncomposed++
	q.unwritten++
	q.flushSoon()
	// The frame makes the batch large enough: write it now.
	if waitingBefore < minWriteBytes && q.waitingBytes >= minWriteBytes {
		q.timer.Reset(0)
	}
	return isFirst
}

// addLost counts frames that the caller left out.
func (q *queue) addLost(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += n
	if !q.closed {
		q.flushSoon()
	}
}

// flushSoon starts the timer that writes the queued frames within maxWriteDelay. The caller holds
// mu.
func (q *queue) flushSoon() {
	if q.timer == nil {
		q.timer = time.AfterFunc(maxWriteDelay, q.flush)
	}
}

// takeWaiting removes and returns the waiting frames, the buffers with their bytes, and the number
// of lost frames since the last call. The caller gives the memory back with reuse.
func (q *queue) takeWaiting() (frames []queuedFrame, buffers [][]byte, lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames = q.waiting
	buffers = q.buffers
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
	return frames, buffers, lost
}

// markWritten notes that the lines of n frames are in the file.
func (q *queue) markWritten(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unwritten -= n
}

// isWorthWaiting reports whether frames are not in the file yet, and writing them takes no
// noticeable time.
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

// close makes add drop every later frame.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.room.Broadcast()
}

// growWaiting returns waiting with room for one more frame. It begins with room for manyFrames,
// then for a usual batch, then doubles.
func (q *queue) growWaiting() []queuedFrame {
	n := len(q.waiting)
	if n < cap(q.waiting) {
		return q.waiting
	}
	room := manyFrames
	if n > 0 {
		room = max(n, usualBatch) // doubles from there on
	}
	return slices.Grow(q.waiting, room)
}

// hasRoom reports whether a frame of so many bytes can be added without waiting. An empty queue has
// room for a frame of any size. Otherwise few frames may be large; many frames may not, because
// then the traffic is faster than the Recorder.
func (q *queue) hasRoom(bytes int) bool {
	limit := maxQueuedBytes
	if q.uncomposed >= manyFrames {
		limit = maxComposingBytes
		if q.diskWaiters > 0 {
			limit = maxUnwrittenBytes
		}
	}
	return q.uncomposed == 0 || q.waitingBytes+q.composingBytes+bytes <= limit
}

// MaxCopied is the largest frame in bytes that a Recorder copies. After Tap the caller may reuse
// the memory of such a frame, but not the memory of a longer frame, which the Recorder keeps.
const MaxCopied = 4 << 10

const (
	// bufferBytes is the size of a buffer with the copied bytes of frames.
	bufferBytes = 64 << 10
	// maxEmptyBuffers is how many buffers are kept for reuse.
	maxEmptyBuffers = 32
)

// copyBytes returns a copy of raw in the buffers, or raw itself if it is longer than MaxCopied.
func (q *queue) copyBytes(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > MaxCopied {
		return raw
	}
	last := len(q.buffers) - 1
	if last < 0 || bufferBytes-len(q.buffers[last]) < len(raw) { // the last buffer has no room
		last++
		if n := len(q.emptyBuffers); n > 0 {
			q.buffers = append(q.buffers, q.emptyBuffers[n-1])
			q.emptyBuffers = q.emptyBuffers[:n-1]
		} else {
			q.buffers = append(q.buffers, make([]byte, 0, bufferBytes))
		}
	}
	start := len(q.buffers[last])
	q.buffers[last] = append(q.buffers[last], raw...)
	return q.buffers[last][start:len(q.buffers[last]):len(q.buffers[last])] // appending to it copies
}

// reuse keeps the memory of written frames for later frames.
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

// markComposed notes that frames of so many bytes in all are lines now.
func (q *queue) markComposed(frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.uncomposed -= frames
	q.composingBytes -= bytes
	q.room.Broadcast()
}

// withDiskWait calls f, which waits for the disk. Meanwhile more bytes may be queued.
func (q *queue) withDiskWait(f func()) {
	q.addDiskWaiters(1)
	defer q.addDiskWaiters(-1)
	f()
}

// addDiskWaiters changes the number of goroutines that wait for the disk.
func (q *queue) addDiskWaiters(delta int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.diskWaiters += delta
	q.room.Broadcast()
}
