package trace

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpc/internal/wire"
)

// A Place opens what a run is recorded into, and numbers the run; 0 is no number.
type Place func() (w io.WriteCloser, run int, err error)

// A Recording says what is recorded where.
type Recording struct {
	Place Place
	// Head is the first line; its Run is the Place's to set.
	Head Head
	// Secrets hides what is secret. The Recorder redacts with it everything that it
	// is given; it may be shared and may learn more meanwhile.
	Secrets *wire.Secrets
	// Failed is told once when nothing more can be recorded; it may be nil.
	Failed func(error)
}

// A Recorder writes frames to a capture. It never keeps its caller waiting for a
// disk while frames cross, and never fails it. Its methods may be called from
// several goroutines. Nothing is opened before the first line is written.
type Recorder struct {
	rec Recording

	// mu guards what waits to be written.
	mu      sync.Mutex
	waiting []wire.Frame
	bytes   int
	lost    int
	timer   *time.Timer
	closed  bool

	// writing guards the file and is taken before mu.
	writing sync.Mutex
	file    io.WriteCloser
	run     int
	failed  error
	buf     []byte
}

const (
	// writeWithin is how long a frame waits at most before it is written, so that a
	// process that is killed or hangs leaves the evidence.
	writeWithin = 200 * time.Millisecond
	// writeFrom is how many bytes are worth a write of their own, and mostWaiting
	// how many may wait for a slow disk before frames are left out.
	writeFrom   = 256 << 10
	mostWaiting = 256 << 20
)

// NewRecorder begins a recording. A caller must Close it.
func NewRecorder(rec Recording) *Recorder { return &Recorder{rec: rec} }

// Tap is the recorder as a wire.Tap. Frames are written in the order in which
// they come.
func (r *Recorder) Tap(f wire.Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return
	case r.bytes+len(f.Raw) > mostWaiting:
		r.lost++
		return
	}
	before := r.bytes
	r.waiting = append(r.waiting, f)
	r.bytes += len(f.Raw) + 200
	if r.timer == nil {
		r.timer = time.AfterFunc(writeWithin, r.flush)
	}
	if before < writeFrom && r.bytes >= writeFrom {
		r.timer.Reset(0)
	}
}

// Lost notes that so many frames were left out before they came here.
func (r *Recorder) Lost(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost += n; !r.closed && r.timer == nil {
		r.timer = time.AfterFunc(writeWithin, r.flush)
	}
}

// flush writes what waits.
func (r *Recorder) flush() {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
}

func (r *Recorder) flushLocked() {
	r.mu.Lock()
	frames, lost := r.waiting, r.lost
	if r.timer != nil {
		r.timer.Stop()
	}
	r.waiting, r.bytes, r.lost, r.timer = nil, 0, 0, nil
	r.mu.Unlock()
	for _, f := range frames {
		if r.failed != nil {
			return
		}
		r.buf = AppendFrame(r.buf, r.rec.Secrets.Frame(f))
		if len(r.buf) >= writeFrom {
			r.writeLocked()
		}
	}
	if lost > 0 && r.failed == nil {
		r.buf = fmt.Appendf(r.buf, "{\"lost\":%d}\n", lost)
	}
	r.writeLocked()
}

// writeLocked writes the buffer, which holds whole lines, behind the head.
func (r *Recorder) writeLocked() {
	if len(r.buf) == 0 || r.failed != nil {
		return
	}
	lines := r.buf
	if r.file == nil {
		if r.file, r.run, r.failed = r.rec.Place(); r.failed == nil {
			lines = append(AppendHead(nil, r.head()), lines...)
		}
	}
	if r.failed == nil {
		_, r.failed = r.file.Write(lines)
	}
	if r.buf = r.buf[:0]; cap(r.buf) > 4*writeFrom {
		r.buf = nil
	}
	if r.failed != nil && r.rec.Failed != nil {
		r.rec.Failed(r.failed)
	}
}

func (r *Recorder) head() Head {
	h := r.rec.Head
	h.Run, h.Target, h.Argv = r.run, r.rec.Secrets.Text(h.Target), r.rec.Secrets.Command(h.Argv)
	return h
}

// End writes the last line; frames that come later are still written, behind it.
func (r *Recorder) End(e End) {
	s := r.rec.Secrets
	e.Name, e.Text, e.Hint = s.Text(e.Name), s.Text(e.Text), s.Text(e.Hint)
	findings := append([]wire.Finding(nil), e.Findings...)
	for i, f := range findings {
		findings[i].Text, findings[i].Want, findings[i].Got = s.Text(f.Text), s.Text(f.Want), s.Text(f.Got)
	}
	e.Findings = findings
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
	r.buf = AppendEnd(r.buf, e)
	r.writeLocked()
}

// Close writes what waits and closes the file; frames that come later are
// dropped. The error is the first one that stopped the recording, of which Failed
// was told as well.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.writing.Lock()
	defer r.writing.Unlock()
	r.flushLocked()
	if r.file != nil {
		err := r.file.Close()
		if r.file = nil; r.failed == nil && err != nil {
			r.failed = err
			if r.rec.Failed != nil {
				r.rec.Failed(err)
			}
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

// Run is the number of the run, 0 where it has none or nothing was written yet.
func (r *Recorder) Run() int {
	r.writing.Lock()
	defer r.writing.Unlock()
	return r.run
}
