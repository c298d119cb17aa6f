package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
	"time"

	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// A Watcher makes frames of the bytes that its caller forwards. The caller adds copies to a queue
// in memory; one goroutine parses them in the order they were forwarded in. When the queue is full,
// copies are dropped and counted: the caller never waits.
type Watcher struct {
	options WatcherOptions

	// mu guards the queue and the fields below.
	mu     sync.Mutex
	queue  []chunk
	spare  []chunk // an empty slice for the next queue
	bytes  int     // in the queue
	lost   int     // dropped chunks that were not reported yet
	closed bool

	wake chan struct{}
	done chan struct{}

	// Only the goroutine uses these fields.
	seq             uint64    // of the last frame
	now             time.Time // when the current chunk was forwarded
	incompleteBytes int       // of messages that are incomplete
}

// WatcherOptions configures a Watcher.
type WatcherOptions struct {
	// Tap is called by one goroutine with each frame, dated when its bytes were forwarded. If it is
	// slow, frames are lost, but forwarding is not delayed.
	Tap wire.Tap
	// OnLost is called with the number of dropped chunks; it may be nil.
	OnLost func(n int)
	// OnUnreadable is called with the reason why a body could not be decoded; it may be nil.
	OnUnreadable func(reason error)
	Now          func() time.Time
	// MaxQueued is the capacity of the queue in bytes; 0 means 64 MiB.
	MaxQueued int
}

const (
	// defaultMaxQueued is the capacity of a queue in bytes, if the options name no capacity.
	defaultMaxQueued = 64 << 20
	// maxMessage is the longest message that is recorded, in bytes.
	maxMessage = 64 << 20
	// maxIncomplete is how many bytes of incomplete messages are kept, in total for all streams.
	maxIncomplete = 256 << 20
)

// A chunk is bytes of a half-stream, a function to call after them, or both.
type chunk struct {
	forwardedAt time.Time
	stream      *halfStream
	bytes       []byte
	// gap is set if chunks of the stream were dropped before this one. noCopy is set if the caller does
	// not use the bytes afterwards: they are not copied.
	gap, noCopy bool
	after       func()
}

// maxSpare is the capacity, in chunks, of the largest queue that is reused.
const maxSpare = 1 << 10

// maxBatch is how many chunks are parsed before other goroutines may run.
const maxBatch = 16

// chunkOverhead is what a chunk counts in the queue in addition to its bytes.
const chunkOverhead = 256

// NewWatcher starts a Watcher. The caller must Close it.
func NewWatcher(o WatcherOptions) *Watcher {
	if o.MaxQueued == 0 {
		o.MaxQueued = defaultMaxQueued
	}
	w := &Watcher{options: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Close parses the rest of the queue and stops the goroutine. Later chunks are ignored.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wakeUp()
	<-w.done
}

// wakeUp lets run look at the queue.
func (w *Watcher) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// schedule adds a call of f to the queue; f runs on the Watcher's goroutine.
func (w *Watcher) schedule(f func()) { w.enqueue(chunk{after: f}) }

// enqueue adds a chunk to the queue, or drops it if the queue is full; it never waits. It keeps a
// chunk with a function without its bytes, unless the queue is full without them.
func (w *Watcher) enqueue(c chunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.bytes+len(c.bytes) > w.options.MaxQueued {
		w.lost++
		if c.stream != nil {
			c.stream.gap = true
		}
		if c.after == nil || w.bytes > w.options.MaxQueued {
			return
		}
		// The function may report an end, which must not be lost.
		c.bytes = nil
	}
	c.forwardedAt = w.options.Now()
	if !c.noCopy {
		c.bytes = bytes.Clone(c.bytes)
	}
	if c.stream != nil {
		c.gap = c.stream.gap
		c.stream.gap = false
	}
	w.queue = append(w.queue, c)
	w.bytes += len(c.bytes) + chunkOverhead
	w.wakeUp()
}

// run processes the queue until the Watcher is closed.
func (w *Watcher) run() {
	defer close(w.done)
	for {
		<-w.wake
		for {
			chunks, isClosed := w.takeQueue()
			if len(chunks) > 0 {
				w.process(chunks)
				w.reuse(chunks)
				continue
			}
			if isClosed {
				return
			}
			break
		}
	}
}

// takeQueue empties the queue and returns its chunks, and whether the Watcher is closed. It reports the
// chunks that were dropped meanwhile.
func (w *Watcher) takeQueue() (chunks []chunk, isClosed bool) {
	w.mu.Lock()
	chunks = w.queue
	lost := w.lost
	isClosed = w.closed
	w.queue = w.spare
	w.spare = nil
	w.lost = 0
	w.mu.Unlock()
	w.reportLost(lost)
	return chunks, isClosed
}

// reuse keeps the memory of processed chunks for a later queue, unless it is large.
func (w *Watcher) reuse(chunks []chunk) {
	if cap(chunks) <= maxSpare {
		w.mu.Lock()
		w.spare = chunks[:0]
		w.mu.Unlock()
	}
}

// process parses chunks and calls their functions.
func (w *Watcher) process(chunks []chunk) {
	for i, c := range chunks {
		w.now = c.forwardedAt
		if c.stream != nil {
			c.stream.process(c)
		}
		if c.after != nil {
			c.after()
		}
		w.mu.Lock()
		w.bytes -= len(c.bytes) + chunkOverhead
		w.mu.Unlock()
		chunks[i] = (chunk{}) // releases its bytes
		if i%maxBatch == maxBatch-1 {
			runtime.Gosched()
		}
	}
}

// reportLost passes a number of dropped chunks, if any, to the Lost option.
func (w *Watcher) reportLost(lost int) {
	if lost > 0 && w.options.OnLost != nil {
		w.options.OnLost(lost)
	}
}

// emit numbers and dates a frame and passes it to the Tap.
func (w *Watcher) emit(f wire.Frame) {
	w.seq++
	f.Seq = w.seq
	f.Time = w.now
	w.options.Tap(f)
}

// A halfStream is one direction of a stream. It is parsed while it is received, by readStream, or
// passed to onWhole when it is complete; without either it is ignored.
type halfStream struct {
	w *Watcher
	// gap is set if chunks were dropped since the last one; Watcher.mu guards it.
	gap bool

	// readStream parses the stream until its end. After a gap it is called again with fragment set:
	// its first line or event is incomplete.
	readStream func(src io.Reader, fragment bool)
	pump       *pump
	// onWhole is called at the end with the whole stream, unless it is empty or incomplete.
	onWhole    func(raw []byte)
	body       []byte // what onWhole will receive
	incomplete bool   // a part of the body is missing
	reserved   int    // bytes counted in Watcher.incompleteBytes
	finished   bool
}

// errGap ends a stream whose chunks were dropped.
var errGap = errors.New("bytes were left out")

// write adds bytes to the half-stream. It copies b.
func (s *halfStream) write(b []byte) {
	if len(b) > 0 {
		s.w.enqueue(chunk{stream: s, bytes: b})
	}
}

// end ends the half-stream.
func (s *halfStream) end() { s.w.schedule(s.finish) }

// Whether writeLast keeps the bytes without a copy. The caller must not use them afterwards then.
const (
	copiesBytes = false
	keepsBytes  = true
)

// writeLast adds the last bytes and ends the half-stream. noCopy is copiesBytes or keepsBytes.
func (s *halfStream) writeLast(b []byte, noCopy bool) {
	s.w.enqueue(chunk{stream: s, bytes: b, noCopy: noCopy, after: s.finish})
}

// process parses a chunk. After a gap it ends the reader of the stream and starts another one. It
// runs on the Watcher's goroutine, as do the methods below.
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

// collect appends a chunk to the body, for onWhole. If a part of the body is missing, or the body
// is too long, it drops the body and ignores the rest.
func (s *halfStream) collect(c chunk) {
	tooLong := len(s.body)+len(c.bytes) > maxMessage
	if tooLong && !s.incomplete && !c.gap {
		s.w.reportLost(1)
	}
	if tooLong || c.gap {
		s.incomplete = true
	}
	if !s.incomplete {
		s.incomplete = !s.reserve(len(c.bytes))
	}
	if s.incomplete {
		s.body = nil
		s.release()
	} else if s.body == nil {
		s.body = c.bytes // without a copy: the queue does not use it any more
	} else {
		s.body = append(s.body, c.bytes...)
	}
}

// finish ends readStream, or calls onWhole unless bytes are missing. It checks s.gap too, as no
// later chunk reports that gap. Later calls have no effect.
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

// endPump ends readStream with an error.
func (s *halfStream) endPump(err error) {
	s.pump.end(err)
	s.pump = nil
	s.release()
}

// reserve counts n bytes of an incomplete message. It returns false, and counts one lost chunk, if
// the total of all half-streams exceeds maxIncomplete.
func (s *halfStream) reserve(n int) bool {
	s.reserved += n
	s.w.incompleteBytes += n
	if s.w.incompleteBytes <= maxIncomplete {
		return true
	}
	s.w.reportLost(1)
	return false
}

// release undoes the reservations of the half-stream.
func (s *halfStream) release() {
	s.w.incompleteBytes -= s.reserved
	s.reserved = 0
}

// A pump lets a function read bytes as they are pushed. The function runs as a coroutine, only
// while it has bytes, so that frames keep their order.
type pump struct {
	input []byte
	err   error
	// resume runs the function until it needs more bytes.
	resume  func() (struct{}, bool)
	stop    func()
	reserve func(n int) bool
	yield   func(struct{}) bool
}

// newPump returns a pump for a function, which begins with the first push. reserve counts the bytes that
// it reads; see halfStream.reserve.
func newPump(reserve func(int) bool, read func(io.Reader)) *pump {
	p := &pump{reserve: reserve}
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		read(p)
	})
	return p
}

// Read returns pushed bytes; it waits for a push if no bytes are left. Only the function calls it.
func (p *pump) Read(b []byte) (int, error) {
	for len(p.input) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if !p.yield(struct{}{}) { // stop was called
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

// push runs the function with more bytes.
func (p *pump) push(b []byte) {
	p.input = b
	p.resume()
}

// end runs the function to its end; its next read returns err.
func (p *pump) end(err error) {
	if p.err == nil {
		p.err = err
	}
	p.resume()
	p.stop()
}

// eachLine calls handle for each line of a stream, without its line end. It skips and counts lines
// longer than maxMessage. With fragment set it skips the first line.
func (s *halfStream) eachLine(src io.Reader, fragment bool, handle func(line []byte)) {
	lines := bufio.NewReaderSize(src, 16<<10)
	var line []byte
	for size := 0; ; { // size counts the parts of a line, even if the line is too long
		part, err := lines.ReadSlice('\n')
		size += len(part)
		if size <= maxMessage {
			line = append(line, part...)
		} else {
			line = nil
			s.release()
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if size > maxMessage {
			s.w.reportLost(1)
		} else if size > 0 && !fragment && !errors.Is(err, errGap) {
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

// eachEvent calls handle for each server-sent event and returns the error that ended the stream,
// io.EOF at its end. An event longer than maxMessage ends it. With fragment set it skips the first
// event, whose beginning is missing. At an error it also passes on the bytes that belong to no
// event.
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

// A reservingReader reserves the bytes that it reads, as a pump does.
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

// MessageWriter returns a writer for what is forwarded in one direction between a client and a server on
// stdio. Each line becomes a frame; a server's line that is not a message is noise. Writing never
// fails. Close reports the end of the stream.
func (w *Watcher) MessageWriter(dir wire.Direction) io.WriteCloser {
	return w.lineWriter(func(line []byte) wire.Frame {
		if dir == wire.Received && wire.ParseMessage(line).Kind == wire.Invalid {
			return wire.Frame{Dir: dir, Kind: wire.Noise, Raw: line}
		}
		return wire.Frame{Dir: dir, Kind: wire.Body, Raw: line}
	})
}

// StderrWriter returns a writer for the server's standard error; each line becomes a frame.
func (w *Watcher) StderrWriter() io.WriteCloser {
	return w.lineWriter(func(line []byte) wire.Frame {
		return wire.Frame{Dir: wire.Received, Kind: wire.Stderr, Raw: line}
	})
}

// ReportClosed reports how the conversation ended.
func (w *Watcher) ReportClosed(by wire.Direction, how, text string) {
	w.schedule(func() {
		w.emit(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	})
}

// lineWriter returns a writer that emits a frame for each line.
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
