package proxy

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
	"time"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A Watcher makes frames of bytes that its caller forwards. The caller gives it a copy and
// goes on: copies wait in memory and are taken apart by one goroutine, in the order in
// which they crossed. What comes faster than that is left out and counted; the caller never
// waits.
type Watcher struct {
	o WatcherOptions

	// mu guards what waits.
	mu     sync.Mutex
	queue  []chunk
	spare  []chunk // for a queue
	bytes  int
	lost   int
	closed bool

	wake chan struct{}
	done chan struct{}

	// What follows belongs to the goroutine: the frames so far, the time of the
	// chunk that is being taken apart, and the bytes of messages that are not whole.
	seq             uint64
	now             time.Time
	incompleteBytes int
}

// WatcherOptions says what becomes of what a Watcher sees.
type WatcherOptions struct {
	// Tap is called with the frames by one goroutine, dated when they crossed. It may be
	// slow: what it cannot keep up with is lost to it alone.
	Tap wire.Tap
	// Lost is given how many chunks were left out; it may be nil.
	Lost func(n int)
	// Unread is given the reason for which a body could not be decoded; it may be nil.
	Unread func(reason error)
	Now    func() time.Time
	// Waiting is how many bytes may wait; 0 is 64 MiB.
	Waiting int
}

const (
	// mostMessage is how long a message may be to be recorded, mostHeld how much may
	// be kept of all those that are not whole yet; in bytes.
	maxMessage    = 64 << 20
	maxIncomplete = 256 << 20
)

// A chunk is bytes of one half-stream, and something to do behind them. Each may be missing.
type chunk struct {
	at    time.Time
	to    *halfStream
	bytes []byte
	// gap is set where bytes before these were left out, own where the caller uses the bytes no
	// more, so that they need not be copied.
	gap, own bool
	do       func()
}

// mostSpare is how many chunks a queue has room for that is used again.
const maxSpare = 1 << 10

// mostAtOnce is how many chunks are taken apart before those who forward get the processor.
const maxBatch = 16

// weight is what a chunk costs beside its bytes.
const chunkOverhead = 256

// NewWatcher begins to watch. A caller must Close it.
func NewWatcher(o WatcherOptions) *Watcher {
	o.Waiting = cmp.Or(o.Waiting, 64<<20)
	w := &Watcher{o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Close takes apart what still waits. What comes later is not looked at.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wakeUp()
	<-w.done
}

func (w *Watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do calls f in its turn, on the goroutine that makes frames.
func (w *Watcher) schedule(f func()) { w.enqueue(chunk{do: f}) }

// add takes a chunk or leaves it out; it never waits.
func (w *Watcher) enqueue(c chunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.bytes+len(c.bytes) > w.o.Waiting {
		w.lost++
		if c.to != nil {
			c.to.gap = true
		}
		if c.do == nil || w.bytes > w.o.Waiting {
			return
		}
		c.bytes = nil // the gap is told with what to do behind it
	}
	c.at = w.o.Now()
	if !c.own {
		c.bytes = bytes.Clone(c.bytes)
	}
	if c.to != nil {
		c.gap = c.to.gap
		c.to.gap = false
	}
	w.queue = append(w.queue, c)
	w.bytes += len(c.bytes) + chunkOverhead
	w.wakeUp()
}

func (w *Watcher) run() {
	defer close(w.done)
	for {
		<-w.wake
		for {
			w.mu.Lock()
			chunks := w.queue
			lost := w.lost
			closed := w.closed
			w.queue = w.spare
			w.spare = nil
			w.lost = 0
			w.mu.Unlock()
			w.reportLost(lost)
			if len(chunks) == 0 {
				if closed {
					return
				}
				break
			}
			w.process(chunks)
			if cap(chunks) <= maxSpare {
				w.mu.Lock()
				w.spare = chunks[:0]
				w.mu.Unlock()
			}
		}
	}
}

func (w *Watcher) process(chunks []chunk) {
	for i, c := range chunks {
		w.now = c.at
		if c.to != nil {
			c.to.process(c)
		}
		if c.do != nil {
			c.do()
		}
		w.mu.Lock()
		w.bytes -= len(c.bytes) + chunkOverhead
		w.mu.Unlock()
		chunks[i] = (chunk{})
		if i%maxBatch == maxBatch-1 {
			runtime.Gosched()
		}
	}
}

func (w *Watcher) reportLost(lost int) {
	if lost > 0 && w.o.Lost != nil {
		w.o.Lost(lost)
	}
}

// frame numbers and dates a frame and hands it on.
func (w *Watcher) emit(f wire.Frame) {
	w.seq++
	f.Seq = w.seq
	f.Time = w.now
	w.o.Tap(f)
}

// A halfStream is what crosses in one direction of one stream, taken apart by a
// function that reads it, or kept as a whole.
type halfStream struct {
	w *Watcher
	// gap is set where bytes were left out since the last chunk; Watcher.mu guards it.
	gap bool

	// read takes the stream apart until its end. Behind a gap it is called anew, and
	// the first thing that it finds is a fragment.
	readStream func(src io.Reader, fragment bool)
	pump       *pump
	// whole is called with all of a stream at its end, where there is any and nothing was left
	// out; until then body has it. spoiled is set where something was.
	onWhole    func(raw []byte)
	body       []byte
	incomplete bool
	reserved   int
	finished   bool
}

// errGap is how a stream ends of which something was left out.
var errGap = errors.New("bytes were left out")

// write gives the half-stream the traffic; b is not kept.
func (s *halfStream) write(b []byte) {
	if len(b) > 0 {
		s.w.enqueue(chunk{to: s, bytes: b})
	}
}

// end says that nothing more comes.
func (s *halfStream) end() { s.w.schedule(s.finish) }

// writeLast is write and end; own says that the caller uses b no more.
func (s *halfStream) writeLast(b []byte, own bool) {
	s.w.enqueue(chunk{to: s, bytes: b, own: own, do: s.finish})
}

// take runs on the Watcher's goroutine, as all that follows.
func (s *halfStream) process(c chunk) {
	if s.finished || s.readStream == nil && s.onWhole == nil {
		return
	}
	if s.onWhole != nil {
		s.collect(c)
		return
	}
	fragment := c.gap
	if c.gap && s.pump != nil {
		s.endPump(errGap)
	}
	if s.pump == nil {
		s.pump = newPump(s.reserve, func(src io.Reader) { s.readStream(src, fragment) })
	}
	s.pump.push(c.bytes)
}

// collect keeps what is a message at its end.
func (s *halfStream) collect(c chunk) {
	tooLong := len(s.body)+len(c.bytes) > maxMessage
	if tooLong && !s.incomplete && !c.gap {
		s.w.reportLost(1)
	}
	s.incomplete = s.incomplete || tooLong || c.gap || !s.reserve(len(c.bytes))
	if s.incomplete {
		s.body = nil
		s.release()
	} else if s.body == nil {
		s.body = c.bytes
	} else {
		s.body = append(s.body, c.bytes...)
	}
}

// finish lets read see the end, or gives all there is to whole. Of bytes that were left out since
// the last chunk no chunk tells.
func (s *halfStream) finish() {
	if s.finished {
		return
	}
	s.finished = true
	end := io.EOF
	s.w.mu.Lock()
	if s.gap {
		end = errGap
	}
	s.w.mu.Unlock()
	if s.pump != nil {
		s.endPump(end)
	}
	if raw := s.body; len(raw) > 0 {
		s.body = nil
		s.release()
		if end == io.EOF {
			s.onWhole(raw)
		}
	}
}

func (s *halfStream) endPump(err error) {
	s.pump.end(err)
	s.pump = nil
	s.release()
}

// hold counts what is read and not yet made a frame of. There is a bound to that
// for all half-streams together: a message that would exceed it is lost.
func (s *halfStream) reserve(n int) bool {
	s.reserved += n
	s.w.incompleteBytes += n
	if s.w.incompleteBytes <= maxIncomplete {
		return true
	}
	s.w.reportLost(1)
	return false
}

func (s *halfStream) release() {
	s.w.incompleteBytes -= s.reserved
	s.reserved = 0
}

// A pump lets a function read bytes that come by and by. It runs only while it
// has some: no goroutine goes at its own pace, and frames keep their order.
type pump struct {
	input []byte
	err   error
	// resume lets the function run until it wants more than there is.
	resume  func() (struct{}, bool)
	stop    func()
	reserve func(n int) bool
	yield   func(struct{}) bool
}

func newPump(reserve func(int) bool, read func(io.Reader)) *pump {
	p := &pump{reserve: reserve}
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		read(p)
	})
	return p
}

// Read is called by the function, on bytes that push gave.
func (p *pump) Read(b []byte) (int, error) {
	for len(p.input) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if !p.yield(struct{}{}) {
			return 0, errGap
		}
	}
	n := copy(b, p.input)
	p.input = p.input[n:]
	if !p.reserve(n) {
		p.err = errGap
		p.input = nil
		return 0, errGap
	}
	return n, nil
}

func (p *pump) push(b []byte) {
	p.input = b
	p.resume()
}

func (p *pump) end(err error) {
	if p.err == nil {
		p.err = err
	}
	p.resume()
	p.stop()
}

// What is longer than mostMessage is left out and counted, a line or all of a
// stream; behind an event that is too long nothing is read any more.

// eachLine calls take for every line of a stream, without its end.
func (s *halfStream) eachLine(src io.Reader, fragment bool, handle func(line []byte)) {
	lines := bufio.NewReaderSize(src, 16<<10)
	var line []byte
	for size := 0; ; {
		part, err := lines.ReadSlice('\n')
		size += len(part)
		if size <= maxMessage {
			line = append(line, part...)
		} else {
			line = nil
			s.release()
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case size > maxMessage:
			s.w.reportLost(1)
		case size > 0 && !fragment && !errors.Is(err, errGap):
			handle(bytes.TrimRight(line, "\r\n"))
		}
		s.release()
		line = nil
		size = 0
		fragment = false
		if err != nil {
			return
		}
	}
}

// eachEvent calls take for every server-sent event, and returns the error with which the stream ended.
func (s *halfStream) eachEvent(src io.Reader, fragment bool, handle func(sse.Event)) error {
	for events := sse.NewReader(src, maxMessage); ; fragment = false {
		ev, err := events.Next()
		if _, ok := errors.AsType[sse.TooLargeError](err); ok {
			s.w.reportLost(1)
		}
		if !fragment && !errors.Is(err, errGap) && (err == nil || len(ev.Dropped) > 0) {
			handle(ev)
		}
		if err != nil {
			return err
		}
		s.release()
	}
}

// A heldReader counts decoded bytes as those that are held, as pump does for others.
type reservingReader struct {
	src io.Reader
	s   *halfStream
}

func (r reservingReader) Read(to []byte) (int, error) {
	n, err := r.src.Read(to)
	if !r.s.reserve(n) {
		return 0, errGap
	}
	return n, err
}

// Messages is for a caller that forwards what crosses in one direction between a client and
// a server on stdio: what is written to it is looked at, line by line. It never fails;
// Close tells that the stream has ended. What a server writes and is not a message is noise.
func (w *Watcher) Messages(dir wire.Direction) io.WriteCloser {
	return w.lineWriter(func(line []byte) wire.Frame {
		if dir == wire.Received && wire.ParseMessage(line).Kind == wire.Invalid {
			return wire.Frame{Dir: dir, Kind: wire.Noise, Raw: line}
		}
		return wire.Frame{Dir: dir, Kind: wire.Body, Raw: line}
	})
}

// Stderr is the same for the standard error of the server.
func (w *Watcher) Stderr() io.WriteCloser {
	return w.lineWriter(func(line []byte) wire.Frame {
		return wire.Frame{Dir: wire.Received, Kind: wire.Stderr, Raw: line}
	})
}

// Closed tells how the conversation came to its end.
func (w *Watcher) Closed(by wire.Direction, how, text string) {
	w.schedule(func() {
		w.emit(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	})
}

func (w *Watcher) lineWriter(newFrame func(line []byte) wire.Frame) io.WriteCloser {
	s := &halfStream{w: w}
	s.readStream = func(src io.Reader, fragment bool) {
		s.eachLine(src, fragment, func(line []byte) { w.emit(newFrame(line)) })
	}
	return streamWriter{s}
}

type streamWriter struct{ *halfStream }

func (w streamWriter) Write(b []byte) (int, error) {
	w.write(b)
	return len(b), nil
}

func (w streamWriter) Close() error {
	w.end()
	return nil
}
