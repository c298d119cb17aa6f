package capture

import (
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
	bytes, taken   int
	frames         int
	onDisk         int
	kept           int64 // bytes, since the beginning
	lost           int
	timer          *time.Timer
	begun          bool
	closed         bool
}

// A queuedFrame frame is safe where its secrets are hidden already.
type queuedFrame struct {
	wire.Frame
	safe bool
}

func (c queuedFrame) weight() int { return len(c.Raw) + 200 }

// hasRoom reports that a frame of so many bytes need not wait.
func (q *queue) hasRoom(bytes int) bool {
	most := mostWaiting
	if q.frames >= mostFrames && q.onDisk == 0 {
		most = mostBehind
	}
	return q.frames == 0 || q.bytes+q.taken+bytes <= most
}

// reuse keeps the room of frames that were written for others.
func (q *queue) reuse(frames []queuedFrame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cap(frames) <= mostSpare {
		q.spare = frames[:0]
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
