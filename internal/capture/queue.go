package capture

import (
	"slices"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A queue is what waits to be written; mu guards it. bytes are those of waiting, taken
// those of what is being written, frames counts both. room is signalled when that becomes
// less, and when the disk is waited for, which onDisk counts.
type queue struct {
	mu             sync.Mutex
	room           sync.Cond
	waiting, spare []queuedFrame
	texts, empty   [][]byte // what copies of the waiting frames' bytes stand in, and what is used again
	bytes, taken   int
	frames         int
	// unwritten counts the frames that are not in the file yet, also those of which the line is composed.
	unwritten int
	onDisk    int
	kept      int64 // bytes, since the beginning
	lost      int
	timer     *time.Timer
	begun     bool
	closed    bool
}

// A queuedFrame frame is safe where its secrets are hidden already.
type queuedFrame struct {
	wire.Frame
	safe bool
}

func (c queuedFrame) weight() int { return len(c.Raw) + lightest }

// lightest is the weight of a frame without bytes, usualFrames about how many small frames wait until
// they are written.
const lightest, usualFrames = 200, 448

// grown is waiting with room for one more frame: for a few, then for as many as are mostly written
// at once, and then for twice as many each time.
func (q *queue) grown() []queuedFrame {
	if n := len(q.waiting); n == cap(q.waiting) {
		room := mostFrames
		if n > 0 {
			room = max(n, usualFrames)
		}
		return slices.Grow(q.waiting, room)
	}
	return q.waiting
}

// hasRoom reports that a frame of so many bytes need not wait.
func (q *queue) hasRoom(bytes int) bool {
	most := mostWaiting
	if q.frames >= mostFrames {
		if most = mostBehind; q.onDisk > 0 {
			most = mostUnwritten
		}
	}
	return q.frames == 0 || q.bytes+q.taken+bytes <= most
}

// MostCopied is how many bytes a frame has at most that a Recorder keeps a copy of: a Tap of which the
// caller may use the bytes again. A longer one is kept itself.
const MostCopied = 4 << 10

const (
	textLength = 64 << 10
	mostEmpty  = 32
)

// copied is raw, or its copy in the texts.
func (q *queue) copied(raw []byte) []byte {
	if len(raw) == 0 || len(raw) > MostCopied {
		return raw
	}
	last := len(q.texts) - 1
	if last < 0 || textLength-len(q.texts[last]) < len(raw) {
		last++
		if n := len(q.empty); n > 0 {
			q.texts, q.empty = append(q.texts, q.empty[n-1]), q.empty[:n-1]
		} else {
			q.texts = append(q.texts, make([]byte, 0, textLength))
		}
	}
	from := len(q.texts[last])
	q.texts[last] = append(q.texts[last], raw...)
	return q.texts[last][from:len(q.texts[last]):len(q.texts[last])]
}

// reuse keeps the room of frames that were written for others.
func (q *queue) reuse(frames []queuedFrame, texts [][]byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(frames) <= mostSpare {
		q.spare = frames[:0]
	}
	for _, text := range texts[:min(len(texts), mostEmpty-len(q.empty))] {
		q.empty = append(q.empty, text[:0])
	}
}

// finished notes that so many of the frames that were taken are written.
func (q *queue) finished(frames, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frames -= frames
	q.taken -= bytes
	q.room.Broadcast()
}

// onDiskWhile calls f, which waits for the disk.
func (q *queue) onDiskWhile(f func()) {
	q.disk(1)
	defer q.disk(-1)
	f()
}

func (q *queue) disk(more int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.onDisk += more
	q.room.Broadcast()
}
