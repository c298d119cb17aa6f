package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// An Opener opens the destination of a recording and returns the number of its run, or 0 if the
// recording has no number.
type Opener func() (w io.WriteCloser, run int, err error)

// A Recording configures a Recorder.
type Recording struct {
	Open Opener
	// Head is the first line; its Run is set by Open.
	Head Head
	// Secrets hides secrets in everything that is recorded. It may be shared, and may learn more
	// secrets during the recording.
	Secrets *redact.Secrets
	// MaxBytes is about how many bytes are recorded; 0 is no limit. Frames after the limit are
	// counted as lost.
	MaxBytes int64
	// Rotation says when a recording in a ring continues in another file.
	Rotation Rotation
	// OnError is called once, with the error that ended the recording. It may be nil.
	OnError func(error)
}

// A Recorder writes frames to a capture. It never makes its caller fail. Tap does not wait for the
// disk unless many or large frames are queued. The first frame creates the file, in a separate
// goroutine. Methods may be called from several goroutines. A nil Recorder records nothing.
type Recorder struct {
	options Recording
	queue   queue

	// writing guards the fields below and is taken before the queue's mutex.
	writing sync.Mutex
	file    io.WriteCloser
	run     int
	// mark begins each line if other recorders may write to the same file; else it is "".
	mark string
	// size is the number of bytes written since the last attempt to rotate.
	size int64
	// parts are the earlier runs of this recording that still exist, oldest first.
	parts []int
	// firstRun is the run that began the recording; 0 in that run itself.
	firstRun int
	// offset is the length of the file, without buf.
	offset int64
	// repeats notes the lines that the next part repeats. Only a recording that rotates uses it.
	repeats repeatTracker
	// failed is the error that ended the recording, or errClosed.
	failed        error
	errorReported bool
	// buf holds lines that are not written yet.
	buf []byte

	compressor compressor
}

const (
	// maxWriteDelay is how long a queued frame waits before it is written. It is short, so that the
	// recording of a process that is killed has its last frames.
	maxWriteDelay = 50 * time.Millisecond
	// minWriteBytes is how many bytes are written at once, unless maxWriteDelay passes.
	minWriteBytes = 32 << 10

	// From manyFrames queued frames on, at most maxComposingBytes are queued while lines are composed and
	// at most maxUnwrittenBytes while the disk is written to. So memory does not grow with traffic that
	// is faster than both.
	manyFrames        = 64
	maxComposingBytes = 128 << 10
	maxUnwrittenBytes = 256 << 10

	// framesPerYield is how many lines are composed before other goroutines get the processor.
	framesPerYield = 16
	// maxSpareFrames is the largest capacity of a queue that is reused.
	maxSpareFrames = 16 << 10
	// maxSpareBytes is the largest capacity of a line buffer that is reused.
	maxSpareBytes = 1 << 20
	// pieceBytes is the length of the pieces of a long frame: a multiple of 3, for base64.
	pieceBytes = 192 << 10
)

// maxQueuedBytes is how many bytes may be queued before the caller waits, for fewer than manyFrames
// frames. Tests set a smaller limit.
var maxQueuedBytes = 64 << 20

// LongFrame is the minimum size in bytes of a frame that is written in pieces, so that its line is
// not held in memory as a whole. A Recorder that shares its file writes each line at once, whatever
// its size: only one write is never mixed with the lines of other recorders. Tests set a smaller
// size.
var LongFrame = 8 << 20

// NewRecorder begins a recording. The caller closes it.
func NewRecorder(rec Recording) *Recorder {
	r := &Recorder{options: rec}
	r.queue.maxBytes = rec.MaxBytes
	r.queue.flush = r.Flush
	r.queue.room.L = &r.queue.mu
	if rec.Head.Mark != "" {
		r.mark = MarkPrefix + rec.Head.Mark + `"`
	}
	return r
}

// Tap queues a frame. It is a wire.Tap. Frames are written in the order of the calls.
func (r *Recorder) Tap(f wire.Frame) { r.add(queuedFrame{Frame: f}) }

// TapSafe queues a frame whose secrets are hidden already, by Secrets.Frame.
func (r *Recorder) TapSafe(f wire.Frame) { r.add(queuedFrame{Frame: f, safe: true}) }

// add queues a frame. The first frame opens the file.
func (r *Recorder) add(frame queuedFrame) {
	if r != nil && r.queue.add(frame) {
		go r.open()
	}
}

// Full reports whether MaxBytes is reached. The caller may then count its frames with Lost in place
// of making them.
func (r *Recorder) Full() bool { return r != nil && r.queue.full.Load() }

// Lost counts n frames that the caller did not record.
func (r *Recorder) Lost(n int) { r.queue.addLost(n) }

// open creates the file and writes the head. It runs in a goroutine because no other step takes
// longer.
func (r *Recorder) open() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.openLocked()
}

// openLocked creates the file and writes the head, unless the file is open or the recording failed.
// A failure is kept in r.failed.
func (r *Recorder) openLocked() {
	if r.file != nil || r.failed != nil {
		return
	}
	r.queue.withDiskWait(func() {
		r.file, r.run, r.failed = r.options.Open()
		if r.failed == nil {
			head := AppendHead(nil, r.head())
			_, r.failed = r.file.Write(head)
			r.offset = int64(len(head))
			r.repeats.begin(r.offset)
		}
	})
}

// isDeletedLocked reports whether the open file was deleted, so that further lines would be lost.
// It returns false if the whole state directory was deleted too: the user wants no recording then.
func (r *Recorder) isDeletedLocked() bool {
	f, ok := r.file.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !isDeleted(info) {
		return false
	}
	_, err = os.Stat(filepath.Dir(filepath.Dir(f.Name())))
	return err == nil
}

// recreateLocked creates another file for a recording whose file was deleted. It is a new
// recording: the earlier parts may have been deleted too.
func (r *Recorder) recreateLocked() {
	r.file.Close()
	r.file = nil
	r.parts = nil // other runs may have got the numbers
	r.firstRun = 0
	r.size = 0
	r.openLocked()
	r.repeats.needsAll = true // buf has lines whose conversations began in the deleted file
}

// Flush writes the queued frames, for readers of a growing capture.
func (r *Recorder) Flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
}

// maxAwaitedBytes is how many bytes WriteWaiting waits for. The result of a larger message is shown
// before it is written.
const maxAwaitedBytes = 8 << 20

// WriteWaiting writes the queued frames, unless they are too many to wait for. A command calls it
// before it shows a result, so that the recording has the result even if the process is killed
// afterwards.
func (r *Recorder) WriteWaiting() {
	if r != nil && r.queue.isWorthWaiting() {
		r.Flush()
	}
}

// flushLocked writes the queued frames. If the recording has failed, it drops them.
func (r *Recorder) flushLocked() {
	frames, buffers, lost := r.queue.takeWaiting()
	taken := len(frames)
	composed := 0
	weight := 0
	for i, queued := range frames {
		if r.failed == nil {
			r.addFrameLocked(queued)
		}
		frames[i] = queuedFrame{} // frees the bytes of a large frame
		composed++
		if composed%framesPerYield == 0 {
			runtime.Gosched()
		}
		weight += queued.weight()
		if weight >= minWriteBytes || i == len(frames)-1 {
			// Make room for callers that wait, in batches.
			r.queue.markComposed(composed, weight)
			composed = 0
			weight = 0
		}
	}
	r.queue.reuse(frames, buffers)
	if lost > 0 {
		r.addLineLocked(func(b []byte) []byte { return fmt.Appendf(b, "{\"lost\":%d}\n", lost) })
	}
	r.writeLocked()
	r.queue.markWritten(taken)
}

// addFrameLocked adds the line of a frame to the buffer. It rotates the recording if the current
// part is full.
func (r *Recorder) addFrameLocked(queued queuedFrame) {
	f := queued.Frame
	if !queued.safe {
		f = r.options.Secrets.Frame(f)
	}
	rotates := r.options.Rotation.Bytes > 0
	if rotates {
		r.openLocked() // r.offset is known only then
	}
	offset := r.offset + int64(len(r.buf))
	// A long frame is written in pieces, unless other recorders write to the file.
	if len(f.Raw) < LongFrame || r.mark != "" {
		r.addLineLocked(func(b []byte) []byte { return AppendFrame(b, f) })
	} else {
		r.buf = append(appendPieces(r.buf, f, r.flushPieceLocked), '\n')
	}
	if rotates {
		r.repeats.add(&f, Span{Offset: offset, Length: r.offset + int64(len(r.buf)) - offset})
	}
	full := rotates && r.size+int64(len(r.buf)) >= r.options.Rotation.Bytes
	if full || len(r.buf) >= minWriteBytes {
		r.writeLocked()
	}
	if full && r.failed == nil {
		r.queue.withDiskWait(r.rotateLocked)
	}
}

// addLineLocked adds a line to the buffer, with the mark of the recording if it has one. appendTo
// appends the line without a mark.
func (r *Recorder) addLineLocked(appendTo func(b []byte) []byte) {
	bracePlace := len(r.buf) + len(r.mark)
	r.buf = appendTo(append(r.buf, r.mark...))
	if r.mark != "" {
		r.buf[bracePlace] = ',' // replaces the opening brace
	}
}

// flushPieceLocked writes the part of a long frame that was encoded so far, and returns the empty
// buffer.
func (r *Recorder) flushPieceLocked(b []byte) []byte {
	r.buf = b
	r.writeLocked()
	return r.buf
}

// writeLocked writes the buffer to the file and empties it, even if the recording has failed. If
// the file was deleted, it creates another one first.
func (r *Recorder) writeLocked() {
	if len(r.buf) > 0 {
		r.openLocked()
	}
	if len(r.buf) > 0 && r.failed == nil {
		r.queue.withDiskWait(func() {
			if r.isDeletedLocked() {
				r.recreateLocked()
			}
			if r.failed == nil {
				_, r.failed = r.file.Write(r.buf)
			}
		})
		r.size += int64(len(r.buf))
		r.offset += int64(len(r.buf))
	}
	r.buf = r.buf[:0]
	if cap(r.buf) > maxSpareBytes {
		r.buf = nil
	}
	r.reportErrorLocked()
}

// reportErrorLocked calls OnError once the recording failed. It is called when there was something
// to write: a file that cannot be created is no failure until then.
func (r *Recorder) reportErrorLocked() {
	hasFailed := r.failed != nil && !errors.Is(r.failed, errClosed)
	if !hasFailed || r.errorReported {
		return
	}
	r.errorReported = true
	if r.options.OnError != nil {
		r.options.OnError(r.failed)
	}
}

// head returns the head of the current run, without secrets.
func (r *Recorder) head() Head {
	h := r.options.Head.Safe(r.options.Secrets)
	h.Run = r.run
	return h
}

// End writes the line that ends the run. Frames that are added later follow it.
func (r *Recorder) End(e End) {
	e = e.Safe(r.options.Secrets)
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
	r.addLineLocked(func(b []byte) []byte { return AppendEnd(b, e) })
	r.writeLocked()
}

// Close writes the queued frames and closes the file. Frames that are added later are dropped. It
// returns the error that ended the recording, which OnError got too, or nil.
func (r *Recorder) Close() error {
	r.queue.close()
	defer r.compressor.end()
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
	if r.file != nil {
		err := r.file.Close()
		r.file = nil
		if r.failed == nil {
			r.failed = err
			r.reportErrorLocked()
		}
	}
	if r.failed == nil {
		r.failed = errClosed // later frames are dropped
	}
	if errors.Is(r.failed, errClosed) {
		return nil
	}
	return r.failed
}

var errClosed = errors.New("the recording is closed")

// Run returns the number of the run. It returns 0 if the run has no number or nothing was recorded
// yet. After the first frame it waits until the file is open.
func (r *Recorder) Run() int {
	begun := r.queue.hasBegun()
	r.writing.Lock()
	defer r.writing.Unlock()
	if begun {
		r.openLocked()
	}
	return r.run
}
