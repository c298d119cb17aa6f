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
	seq  uint64
	at   time.Time
	held int
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
	mostMessage = 64 << 20
	mostHeld    = 256 << 20
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
const mostSpare = 1 << 10

// mostAtOnce is how many chunks are taken apart before those who forward get the processor.
const mostAtOnce = 16

// weight is what a chunk costs beside its bytes.
const weight = 256

// NewWatcher begins to watch. A caller must Close it.
func NewWatcher(o WatcherOptions) *Watcher {
	o.Waiting = cmp.Or(o.Waiting, 64<<20)
	w := &Watcher{o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.work()
	return w
}

// Close takes apart what still waits. What comes later is not looked at.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.rouse()
	<-w.done
}

func (w *Watcher) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// do calls f in its turn, on the goroutine that makes frames.
func (w *Watcher) do(f func()) { w.add(chunk{do: f}) }

// add takes a chunk or leaves it out; it never waits.
func (w *Watcher) add(p chunk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if w.bytes+len(p.bytes) > w.o.Waiting {
		w.lost++
		if p.to != nil {
			p.to.gap = true
		}
		if p.do == nil || w.bytes > w.o.Waiting {
			return
		}
		p.bytes = nil // the gap is told with what to do behind it
	}
	p.at = w.o.Now()
	if !p.own {
		p.bytes = bytes.Clone(p.bytes)
	}
	if p.to != nil {
		p.gap = p.to.gap
		p.to.gap = false
	}
	w.queue = append(w.queue, p)
	w.bytes += len(p.bytes) + weight
	w.rouse()
}

func (w *Watcher) work() {
	defer close(w.done)
	for {
		<-w.wake
		for {
			w.mu.Lock()
			pieces := w.queue
			lost := w.lost
			closed := w.closed
			w.queue = w.spare
			w.spare = nil
			w.lost = 0
			w.mu.Unlock()
			w.tell(lost)
			if len(pieces) == 0 {
				if closed {
					return
				}
				break
			}
			w.take(pieces)
			if cap(pieces) <= mostSpare {
				w.mu.Lock()
				w.spare = pieces[:0]
				w.mu.Unlock()
			}
		}
	}
}

func (w *Watcher) take(pieces []chunk) {
	for i, p := range pieces {
		w.at = p.at
		if p.to != nil {
			p.to.take(p)
		}
		if p.do != nil {
			p.do()
		}
		w.mu.Lock()
		w.bytes -= len(p.bytes) + weight
		w.mu.Unlock()
		pieces[i] = (chunk{})
		if i%mostAtOnce == mostAtOnce-1 {
			runtime.Gosched()
		}
	}
}

func (w *Watcher) tell(lost int) {
	if lost > 0 && w.o.Lost != nil {
		w.o.Lost(lost)
	}
}

// frame numbers and dates a frame and hands it on.
func (w *Watcher) frame(f wire.Frame) {
	w.seq++
	f.Seq = w.seq
	f.Time = w.at
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
	read func(src io.Reader, fragment bool)
	pump *pump
	// whole is called with all of a stream at its end, where there is any and nothing was left
	// out; until then body has it. spoiled is set where something was.
	whole   func(raw []byte)
	body    []byte
	spoiled bool
	held    int
	over    bool
}

// errGap is how a stream ends of which something was left out.
var errGap = errors.New("bytes were left out")

// write gives the half-stream the traffic; b is not kept.
func (s *halfStream) write(b []byte) {
	if len(b) > 0 {
		s.w.add(chunk{to: s, bytes: b})
	}
}

// end says that nothing more comes.
func (s *halfStream) end() { s.w.do(s.finish) }

// writeLast is write and end; own says that the caller uses b no more.
func (s *halfStream) writeLast(b []byte, own bool) {
	s.w.add(chunk{to: s, bytes: b, own: own, do: s.finish})
}

// take runs on the Watcher's goroutine, as all that follows.
func (s *halfStream) take(p chunk) {
	if s.over || s.read == nil && s.whole == nil {
		return
	}
	if s.whole != nil {
		s.collect(p)
		return
	}
	fragment := p.gap
	if p.gap && s.pump != nil {
		s.stop(errGap)
	}
	if s.pump == nil {
		s.pump = newPump(s.hold, func(src io.Reader) { s.read(src, fragment) })
	}
	s.pump.push(p.bytes)
}

// collect keeps what is a message at its end.
func (s *halfStream) collect(p chunk) {
	tooLong := len(s.body)+len(p.bytes) > mostMessage
	if tooLong && !s.spoiled && !p.gap {
		s.w.tell(1)
	}
	s.spoiled = s.spoiled || tooLong || p.gap || !s.hold(len(p.bytes))
	if s.spoiled {
		s.body = nil
		s.release()
	} else if s.body == nil {
		s.body = p.bytes
	} else {
		s.body = append(s.body, p.bytes...)
	}
}

// finish lets read see the end, or gives all there is to whole. Of bytes that were left out since
// the last chunk no chunk tells.
func (s *halfStream) finish() {
	if s.over {
		return
	}
	s.over = true
	end := io.EOF
	s.w.mu.Lock()
	if s.gap {
		end = errGap
	}
	s.w.mu.Unlock()
	if s.pump != nil {
		s.stop(end)
	}
	if raw := s.body; len(raw) > 0 {
		s.body = nil
		s.release()
		if end == io.EOF {
			s.whole(raw)
		}
	}
}

func (s *halfStream) stop(err error) {
	s.pump.end(err)
	s.pump = nil
	s.release()
}

// hold counts what is read and not yet made a frame of. There is a bound to that
// for all half-streams together: a message that would exceed it is lost.
func (s *halfStream) hold(n int) bool {
	s.held += n
	s.w.held += n
	if s.w.held <= mostHeld {
		return true
	}
	s.w.tell(1)
	return false
}

func (s *halfStream) release() {
	s.w.held -= s.held
	s.held = 0
}

// A pump lets a function read bytes that come by and by. It runs only while it
// has some: no goroutine goes at its own pace, and frames keep their order.
type pump struct {
	in  []byte
	err error
	// resume lets the function run until it wants more than there is.
	resume func() (struct{}, bool)
	stop   func()
	hold   func(n int) bool
	yield  func(struct{}) bool
}

func newPump(hold func(int) bool, read func(io.Reader)) *pump {
	p := &pump{hold: hold}
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		read(p)
	})
	return p
}

// Read is called by the function, on bytes that push gave.
func (p *pump) Read(b []byte) (int, error) {
	for len(p.in) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if !p.yield(struct{}{}) {
			return 0, errGap
		}
	}
	n := copy(b, p.in)
	p.in = p.in[n:]
	if !p.hold(n) {
		p.err = errGap
		p.in = nil
		return 0, errGap
	}
	return n, nil
}

func (p *pump) push(b []byte) {
	p.in = b
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
func (s *halfStream) eachLine(src io.Reader, fragment bool, take func(line []byte)) {
	lines := bufio.NewReaderSize(src, 16<<10)
	var line []byte
	for size := 0; ; {
		part, err := lines.ReadSlice('\n')
		size += len(part)
		if size <= mostMessage {
			line = append(line, part...)
		} else {
			line = nil
			s.release()
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case size > mostMessage:
			s.w.tell(1)
		case size > 0 && !fragment && !errors.Is(err, errGap):
			take(bytes.TrimRight(line, "\r\n"))
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
func (s *halfStream) eachEvent(src io.Reader, fragment bool, take func(sse.Event)) error {
	for events := sse.NewReader(src, mostMessage); ; fragment = false {
		ev, err := events.Next()
		if _, ok := errors.AsType[sse.TooLargeError](err); ok {
			s.w.tell(1)
		}
		if !fragment && !errors.Is(err, errGap) && (err == nil || len(ev.Dropped) > 0) {
			take(ev)
		}
		if err != nil {
			return err
		}
		s.release()
	}
}

// A heldReader counts decoded bytes as those that are held, as pump does for others.
type heldReader struct {
	src io.Reader
	s   *halfStream
}

func (r heldReader) Read(to []byte) (int, error) {
	n, err := r.src.Read(to)
	if !r.s.hold(n) {
		return 0, errGap
	}
	return n, err
}

// Messages is for a caller that forwards what crosses in one direction between a client and
// a server on stdio: what is written to it is looked at, line by line. It never fails;
// Close tells that the stream has ended. What a server writes and is not a message is noise.
func (w *Watcher) Messages(dir wire.Direction) io.WriteCloser {
	return w.lines(func(line []byte) wire.Frame {
		if dir == wire.Received && wire.ParseMessage(line).Kind == wire.Invalid {
			return wire.Frame{Dir: dir, Kind: wire.Noise, Raw: line}
		}
		return wire.Frame{Dir: dir, Kind: wire.Body, Raw: line}
	})
}

// Stderr is the same for the standard error of the server.
func (w *Watcher) Stderr() io.WriteCloser {
	return w.lines(func(line []byte) wire.Frame {
		return wire.Frame{Dir: wire.Received, Kind: wire.Stderr, Raw: line}
	})
}

// Closed tells how the conversation came to its end.
func (w *Watcher) Closed(by wire.Direction, how, text string) {
	w.do(func() {
		w.frame(wire.Frame{Dir: by, Kind: wire.Closed, Close: &wire.CloseFacts{By: by, How: how, Text: text}})
	})
}

func (w *Watcher) lines(frame func(line []byte) wire.Frame) io.WriteCloser {
	s := &halfStream{w: w}
	s.read = func(src io.Reader, fragment bool) {
		s.eachLine(src, fragment, func(line []byte) { w.frame(frame(line)) })
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
