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

// An Opener opens what a run is recorded into, and numbers the run; 0 is not a number.
type Opener func() (w io.WriteCloser, run int, err error)

// A Recording says what is recorded where.
type Recording struct {
	Open Opener
	// Head is the first line; its Run is set by Open.
	Head Head
	// Secrets hides what is secret. The Recorder redacts with it everything that it
	// is given; it may be shared and may learn more meanwhile.
	Secrets *redact.Secrets
	// MaxBytes is about how many bytes are recorded, 0 for any number; what comes behind
	// is counted as lost.
	MaxBytes int64
	// Rotation says when a recording in a ring goes on in the next file.
	Rotation Rotation
	// OnError is told once when nothing more can be recorded; it may be nil.
	OnError func(error)
}

// A Recorder writes frames to a capture, and never fails its caller. While frames
// cross the disk is not waited for, unless many or large ones wait for it. Its
// methods may be called from several goroutines. The file is made with the first
// frame, beside whatever the caller does then. A nil Recorder keeps nothing.
type Recorder struct {
	rec   Recording
	queue queue

	// writing guards the fields below and is taken before the queue's mutex.
	writing sync.Mutex
	file    io.WriteCloser
	run     int
	// mark begins each line where other recorders may write to the file too.
	mark string
	// size is that of the file, or of what was written since it could not be left;
	// parts are the runs that this one goes on from, first is the one that began the recording, 0 in that run itself.
	size  int64
	parts []int
	first int
	// offset is the length of the file without buf; unsettled is for a recording that rotates.
	offset        int64
	repeats       repeatTracker
	failed        error
	errorReported bool
	// buf has the lines that are not written yet.
	buf []byte

	compressor compressor
}

const (
	// writeWithin is how long a frame waits at most before it is written, so that a
	// process that is killed or hangs leaves the evidence.
	maxWriteDelay = 50 * time.Millisecond
	// writeFrom is how many bytes are worth a write of their own. Of mostFrames or more, mostBehind
	// bytes may wait while lines are composed, and mostUnwritten while the disk is written to, so
	// that memory does not grow with the traffic, which may be faster than both.
	minWriteBytes     = 32 << 10
	maxComposingBytes = 128 << 10
	maxUnwrittenBytes = 256 << 10
	manyFrames        = 64
	// mostAtOnce is how many frames are written before others that want the processor get it.
	framesPerYield = 16
	// mostSpare is how many frames a queue has room for that is used again, mostSpareBytes how many
	// bytes the lines have room for that is.
	maxSpareFrames, maxSpareBytes = 16 << 10, 1 << 20
	// pieceLength is the length of the pieces of a long frame, a multiple of 3 for base64.
	pieceBytes = 192 << 10
)

// mostWaiting limits the bytes in the queue, for fewer than mostFrames frames, before the caller waits.
// Tests set a smaller limit.
var maxQueuedBytes = 64 << 20

// LongFrame is the size from which a frame is written in pieces: as a whole it would take
// its memory once more. Where others write to the file too it does, since only what is
// written at once is not mixed with what they write. Tests have a smaller one.
var LongFrame = 8 << 20

// NewRecorder begins a recording. A caller must Close it.
func NewRecorder(rec Recording) *Recorder {
	r := &Recorder{rec: rec}
	r.queue.maxBytes = rec.MaxBytes
	r.queue.flush = r.Flush
	r.queue.room.L = &r.queue.mu
	if rec.Head.In != "" {
		r.mark = MarkPrefix + rec.Head.In + `"`
	}
	return r
}

// Tap is the recorder as a wire.Tap. Frames are written in the order in which
// they come.
func (r *Recorder) Tap(f wire.Frame) { r.add(queuedFrame{Frame: f}) }

// TapSafe is Tap for a frame that Secrets.Frame gave.
func (r *Recorder) TapSafe(f wire.Frame) { r.add(queuedFrame{Frame: f, safe: true}) }

// add adds a frame to the queue. The file is made with the first one.
func (r *Recorder) add(frame queuedFrame) {
	if r != nil && r.queue.add(frame) {
		go r.open()
	}
}

// Full reports whether nothing more is recorded. The caller need not make frames that would only be counted, and can
// count them with Lost.
func (r *Recorder) Full() bool { return r != nil && r.queue.full.Load() }

// Lost notes that n frames were left out before they reached the Recorder.
func (r *Recorder) Lost(n int) { r.queue.addLost(n) }

// open makes the file and writes the head: nothing takes longer.
func (r *Recorder) open() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.openLocked()
}

func (r *Recorder) openLocked() {
	if r.file != nil || r.failed != nil {
		return
	}
	r.queue.withDiskWait(func() {
		r.file, r.run, r.failed = r.rec.Open()
		if r.failed == nil {
			head := AppendHead(nil, r.head())
			_, r.failed = r.file.Write(head)
			r.offset = int64(len(head))
			r.repeats.begin(r.offset)
		}
	})
}

// deletedLocked reports whether the file has no name any more: what is written to it would be lost. It returns false
// if the whole state directory is deleted as well: its user wants no recording then.
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

// beginAnewLocked begins another file for a recording whose file was deleted.
func (r *Recorder) recreateLocked() {
	r.file.Close()
	r.file = nil
	r.parts = nil // runs that are made now may get their numbers
	r.first = 0
	r.size = 0
	r.openLocked()
	r.repeats.all = true // buf has lines of the file too
}

// Flush writes what waits, for readers of a growing capture.
func (r *Recorder) Flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
}

// mostAwaited is how many bytes WriteWaiting waits for. The result of a larger message is shown while it is written.
const maxAwaitedBytes = 8 << 20

// WriteWaiting writes the frames that wait, if there are any. It is called before a result is shown to a user, so that
// what was shown is in the recording, whatever ends the process then.
func (r *Recorder) WriteWaiting() {
	if r != nil && r.queue.isWorthWaiting() {
		r.Flush()
	}
}

// flushLocked writes the waiting frames.
func (r *Recorder) flushLocked() {
	frames, buffers, lost := r.queue.takeWaiting()
	taken := len(frames)
	composed := 0
	weight := 0
	for i, queued := range frames {
		if r.failed == nil {
			r.addFrameLocked(queued)
		}
		frames[i] = queuedFrame{} // it may be large
		composed++
		if composed%framesPerYield == 0 {
			runtime.Gosched()
		}
		weight += queued.weight()
		if weight >= minWriteBytes || i == len(frames)-1 {
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

// frameLocked puts the line of a frame into the buffer, and begins the next part if this one is full.
func (r *Recorder) addFrameLocked(c queuedFrame) {
	f := c.Frame
	if !c.safe {
		f = r.rec.Secrets.Frame(f)
	}
	rotates := r.rec.Rotation.Bytes > 0
	if rotates {
		r.openLocked()
	}
	at := r.offset + int64(len(r.buf))
	if len(f.Raw) < LongFrame || r.mark != "" {
		r.addLineLocked(func(b []byte) []byte { return AppendFrame(b, f) })
	} else {
		r.buf = append(appendPieces(r.buf, f, r.flushPieceLocked), '\n')
	}
	if rotates {
		r.repeats.add(&f, Span{at, r.offset + int64(len(r.buf)) - at})
	}
	full := rotates && r.size+int64(len(r.buf)) >= r.rec.Rotation.Bytes
	if full || len(r.buf) >= minWriteBytes {
		r.writeLocked()
	}
	if full && r.failed == nil {
		r.queue.withDiskWait(r.rotateLocked)
	}
}

// lineLocked puts a line into the buffer, which says first whose it is.
func (r *Recorder) addLineLocked(line func(b []byte) []byte) {
	at := len(r.buf) + len(r.mark)
	r.buf = line(append(r.buf, r.mark...))
	if r.mark != "" {
		r.buf[at] = ',' // in the place of its brace
	}
}

// flushPieceLocked writes what there is of a long frame.
func (r *Recorder) flushPieceLocked(b []byte) []byte {
	r.buf = b
	r.writeLocked()
	return r.buf
}

// writeLocked writes the buffer behind the head.
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

// tellLocked tells once of what failed, and when there was something to write: a
// file that cannot be made is no failure before.
func (r *Recorder) reportErrorLocked() {
	if r.failed != nil && !errors.Is(r.failed, errClosed) && !r.errorReported {
		r.errorReported = true
		if r.rec.OnError != nil {
			r.rec.OnError(r.failed)
		}
	}
}

func (r *Recorder) head() Head {
	h := r.rec.Head.Safe(r.rec.Secrets)
	h.Run = r.run
	return h
}

// End writes the last line; frames that come later are still written, behind it.
func (r *Recorder) End(e End) {
	e = e.Safe(r.rec.Secrets)
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
	r.addLineLocked(func(b []byte) []byte { return AppendEnd(b, e) })
	r.writeLocked()
}

// Close writes what waits and closes the file; frames that come later are
// dropped. The error is the first one that stopped the recording, of which Failed
// was told as well.
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
		r.failed = errClosed
	}
	if errors.Is(r.failed, errClosed) {
		return nil
	}
	return r.failed
}

var errClosed = errors.New("the recording is closed")

// Run returns the number of the run; 0 if it has none, or if nothing was recorded yet.
func (r *Recorder) Run() int {
	begun := r.queue.hasBegun()
	r.writing.Lock()
	defer r.writing.Unlock()
	if begun {
		r.openLocked()
	}
	return r.run
}
