package batch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/report"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// run reads lines, makes their calls and writes the results, until the input ends, a call fails
// with --stop-on-error, the results cannot be written, or ctx ends. It then waits for calls that
// have begun, but not for more input. stop cancels the calls.
func (b *batch) run(ctx context.Context, stop context.CancelFunc, in io.Reader) {
	b.src = &lineReader{r: bufio.NewReaderSize(in, 64<<10), limit: b.f.Limits.WithDefaults().Message}
	stopEnding := context.AfterFunc(ctx, b.window.end)
	defer stopEnding()
	// After an interruption, --jq may still filter the results of the calls that were sent.
	filterCtx, stopFilter := withGrace(ctx, filterGrace)
	defer stopFilter()
	write := func(lines []*batchLine) {
		if b.results.write(filterCtx, lines) != nil {
			stop() // further results would not be written
		}
	}
	var callers sync.WaitGroup
	for range b.parallel {
		callers.Go(func() {
			for l := b.next(); l != nil; l = b.next() {
				b.handle(ctx, l)
				b.window.finish(l, write)
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		callers.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-b.window.ended: // a worker may wait for input for ever: wait for the calls only
		b.window.drain()
	}
	b.window.withLock(b.results.flush)
}

// next returns the next line for a free worker, or nil after the last.
func (b *batch) next() *batchLine {
	b.readToken <- struct{}{}
	defer func() { <-b.readToken }()
	if !b.window.waitForRoom() {
		return nil
	}
	if b.src.r.Buffered() == 0 { // the writer of the input may wait for a result before its next line
		b.window.withLock(b.results.flush)
	}
	l, err := b.src.next()
	if err != nil || !b.window.add(l) {
		return nil
	}
	return l
}

// handle makes the call of one line and sets its result. It omits the line if the batch has ended, or
// if the call was interrupted before it was sent.
func (b *batch) handle(ctx context.Context, l *batchLine) {
	l.omitted = b.window.isOver()
	if l.omitted {
		return
	}
	began := b.f.Now()
	echo, out := b.lineOutcome(ctx, l)
	took := b.f.Now().Sub(began)
	out = cmdutil.WithSignal(ctx, out)
	b.f.Env.GaveUp(out, out.ExitCode())
	// A call that was not sent before an interruption has no result.
	l.omitted = out.Kind == wire.Signal && out.Reached == wire.Unsent
	if l.omitted {
		return
	}
	if !out.OK() {
		out = b.f.WithoutSecrets(connect.ExplainAuthFailure(&b.f.Env, out))
	}
	l.kind = out.Kind
	l.out = report.CallLine(b.f.ErrStyle, l.number, echo, out, b.f.HasAnswer(out), took)
	if b.stop && !out.OK() {
		b.window.end()
	}
}

// lineOutcome makes the call of one line. A panic becomes an outcome, so that the results of other
// lines are not lost.
func (b *batch) lineOutcome(ctx context.Context, l *batchLine) (echo []jsonraw.Member, out wire.Outcome) {
	defer func() {
		if panicValue := recover(); panicValue != nil {
			out = wire.Outcome{
				Kind:    wire.Internal,
				Text:    fmt.Sprint(panicValue),
				Reached: wire.Unknown,
				Hint:    "please report it with this line",
			}
		}
	}()
	if l.err != nil {
		return nil, usage.Outcome(l.err)
	}
	return b.makeCall(ctx, l.raw)
}
