package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/connect"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/report"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Between what is read and what is written stand so many lines at most, and about
// so many bytes: a call that takes long holds up those behind it, and not the
// memory.
const (
	mostLines = 1024
	mostHeld  = 32 << 20
)

// A batchLine is one line of the input on its way to its result.
type batchLine struct {
	number int
	raw    []byte
	// bad is why the line is none.
	bad error
	// out is the result, once it is ready. A line that was left out has none.
	ready   bool
	kind    wire.Kind
	out     []byte
	leftOut bool
}

// run reads, calls and writes, until the input ends, a call fails that is to stop
// the batch, the results cannot be written, or ctx ends. What is under way then is
// waited for, and not an input that says nothing more.
func (b *batch) run(ctx context.Context, stop context.CancelFunc, in io.Reader) {
	b.src = &lineReader{r: bufio.NewReaderSize(in, 64<<10), limit: b.f.Limits.WithDefaults().Message}
	b.out, b.stopAll = bufio.NewWriterSize(b.f.Stdout(), 64<<10), stop
	defer context.AfterFunc(ctx, b.window.end)()
	filtering, stopFilter := outlasting(ctx, filterGrace)
	defer stopFilter()
	write := func(lines []*batchLine) { b.write(filtering, lines) }
	var callers sync.WaitGroup
	for range b.parallel {
		callers.Go(func() {
			for l := b.next(); l != nil; l = b.next() {
				b.serve(ctx, l)
				b.window.finish(l, write)
			}
		})
	}
	ended := make(chan struct{})
	go func() { callers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-b.window.over:
		b.window.drain()
	}
	b.window.alone(b.flush)
}

// filterGrace is how long --jq may go on after a batch was interrupted: what was sent
// has its line, unless the expression has no end.
const filterGrace = time.Second

// outlasting is a context that ends some time after ctx does.
func outlasting(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })
	return longer, stop
}

// next gives the next line to a free worker; nil where there is none any more.
func (b *batch) next() *batchLine {
	b.reading <- struct{}{}
	defer func() { <-b.reading }()
	if !b.window.wait() {
		return nil
	}
	if b.src.r.Buffered() == 0 { // a program that waits for a result before its next line gets it
		b.window.alone(b.flush)
	}
	l, err := b.src.next()
	if err != nil || !b.window.enter(l) {
		return nil
	}
	return l
}

// serve makes the call of one line, unless the batch has ended.
func (b *batch) serve(ctx context.Context, l *batchLine) {
	if l.leftOut = b.window.isOver(); l.leftOut {
		return
	}
	began := b.f.Now()
	echo, out := b.outcome(ctx, l)
	took := b.f.Now().Sub(began)
	out = cmdutil.Signalled(ctx, out)
	b.f.Env.GaveUp(out, out.ExitCode())
	// What was not sent when the batch was interrupted was not done.
	if l.leftOut = out.Kind == wire.Signal && out.Reached == wire.Unsent; l.leftOut {
		return
	}
	if !out.Good() {
		out = cmdutil.WithoutSecrets(b.f, connect.ExplainAuthFailure(&b.f.Env, out))
	}
	l.kind, l.out = out.Kind, report.CallLine(b.f.ErrStyle, l.number, echo, out, cmdutil.HasAnswer(b.f, out), took)
	if b.stop && !out.Good() {
		b.window.end()
	}
}

// outcome is that of one line. A bug in one of them does not take the results of
// the others along.
func (b *batch) outcome(ctx context.Context, l *batchLine) (echo []jsonraw.Member, out wire.Outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			out = wire.Outcome{Kind: wire.Internal, Text: fmt.Sprint(crash), Reached: wire.Unknown, Hint: "please report it with this line"}
		}
	}()
	if l.bad != nil {
		return nil, usage.Outcome(l.bad)
	}
	return b.make(ctx, l.raw)
}

// write writes results in the order of their lines, and tells that they were
// written as far as there are any.
func (b *batch) write(ctx context.Context, lines []*batchLine) {
	for _, l := range lines {
		b.result(ctx, l)
	}
	b.flushSoon()
	if b.unprinted() != nil { // further results are not written
		b.stopAll()
	}
	b.tell()
}

// flushWithin is how long a result may wait for those behind it, to be written with
// them: a write for each would cost its reader more than all the rest.
const flushWithin = 2 * time.Millisecond

func (b *batch) flushSoon() {
	if !b.flushing && b.out.Buffered() > 0 {
		b.flushing = true
		time.AfterFunc(flushWithin, func() { b.window.alone(b.flush) })
	}
}

func (b *batch) flush() {
	b.flushing = false
	_ = b.out.Flush()
}

// unprinted returns the first failure to print a result, nil where none failed.
func (b *batch) unprinted() error { return cmp.Or(b.lineFailed, cmdutil.StdoutError(b.f)) }

// result writes one line and counts it.
func (b *batch) result(ctx context.Context, l *batchLine) {
	if l.leftOut || b.unprinted() != nil {
		return
	}
	if b.f.Jq == "" && !b.f.OutStyle.Terminal {
		_, _ = b.out.Write(l.out)
	} else if err := cmdutil.TryLine(ctx, b.f, bytes.TrimSuffix(l.out, []byte("\n"))); cmdutil.IsStopped(err) {
		return
	} else if cmdutil.IsUsage(err) && b.unprinted() == nil {
		// One result that --jq cannot take is no reason to leave out the others.
		b.f.Warn(fmt.Sprintf("line %d: %s", l.number, err))
		l.kind = cmdutil.MoreSevere(l.kind, wire.Usage)
	} else {
		b.lineFailed = cmdutil.LineError(b.f, err)
	}
	b.lines, b.last = b.lines+1, l.number
	if b.tally[l.kind]++; l.kind != wire.OK && b.failed == 0 {
		b.failed = l.number
	}
}

// tell shows a person how far it came.
func (b *batch) tell() {
	now := b.f.Now()
	if !b.f.ErrStyle.Terminal || now.Sub(b.told) < console.TickEvery {
		return
	}
	b.told = now
	text := english.Plural(b.lines, "call")
	if bad := b.lines - b.tally[wire.OK]; bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	if took := now.Sub(b.began); took > time.Second {
		text += fmt.Sprintf(", %.0f a second", float64(b.lines)/took.Seconds())
	}
	b.f.Progress.Waiting(text, "stops the batch")
}

// A lineReader gives the lines of the input that are not blank, numbered from 1.
type lineReader struct {
	r      *bufio.Reader
	limit  int64 // of a line in bytes; below 1 there is none
	number int
	// ended is set once the input could not be read any more.
	ended bool
}

// next gives a line until io.EOF; one that is too long is passed over and says so, and
// so does the place from which on nothing could be read.
func (r *lineReader) next() (*batchLine, error) {
	for {
		raw, long, err := r.line()
		r.number++
		if r.number == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
		}
		raw = bytes.TrimSpace(raw)
		switch l := (&batchLine{number: r.number, raw: raw}); {
		case long:
			l.raw, l.bad = nil, usage.New(fmt.Sprintf("the line is longer than %d bytes", r.limit), "--max-message-size SIZE raises the limit, 0 removes it")
			return l, nil
		case len(raw) > 0:
			return l, nil
		case err == io.EOF || r.ended:
			return nil, io.EOF
		case err != nil:
			r.ended = true
			l.bad = fmt.Errorf("reading the calls: %w", usage.Bare(err))
			return l, nil
		}
	}
}

// line reads up to a line end. The last line may come with an err.
func (r *lineReader) line() (raw []byte, long bool, err error) {
	for {
		part, err := r.r.ReadSlice('\n')
		if long = long || r.limit > 0 && int64(len(raw)+len(part)) > r.limit+1; !long {
			raw = append(raw, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, long, err
		}
	}
}

// A window is what is between the reader and the writer, in the order of the lines.
type window struct {
	// over is closed when nothing more is to begin.
	over chan struct{}

	mu    sync.Mutex
	moved sync.Cond
	lines []*batchLine
	bytes int // of lines that wait, and of results that do
	// at most so many, but always one.
	mostLines, mostBytes int
}

func newWindow(lines, bytes int) *window {
	w := &window{over: make(chan struct{}), mostLines: lines, mostBytes: bytes}
	w.moved.L = &w.mu
	return w
}

// wait waits for room; false where nothing more is to begin.
func (w *window) wait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.isOver() && len(w.lines) > 0 && (len(w.lines) >= w.mostLines || w.bytes >= w.mostBytes) {
		w.moved.Wait()
	}
	return !w.isOver()
}

// enter takes a line in; false where nothing more is to begin.
func (w *window) enter(l *batchLine) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isOver() {
		return false
	}
	w.lines = append(w.lines, l)
	w.bytes += len(l.raw)
	return true
}

// finish marks a line as done, and passes the lines whose turn it is to write, which runs
// under the lock, one call at a time.
func (w *window) finish(l *batchLine, write func([]*batchLine)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes += len(l.out) - len(l.raw)
	l.raw, l.ready = nil, true
	n := 0
	for n < len(w.lines) && w.lines[n].ready {
		w.bytes -= len(w.lines[n].out)
		n++
	}
	if n == 0 {
		return
	}
	write(w.lines[:n])
	left := copy(w.lines, w.lines[n:])
	clear(w.lines[left:])
	w.lines = w.lines[:left]
	w.moved.Broadcast()
}

// alone runs f while no worker writes.
func (w *window) alone(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// end lets nothing more begin.
func (w *window) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isOver() {
		close(w.over)
	}
	w.moved.Broadcast()
}

func (w *window) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// drain waits until what has begun has ended.
func (w *window) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.lines) > 0 {
		w.moved.Wait()
	}
}
