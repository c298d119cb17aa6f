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

// run reads, calls and writes, until the input ends, a call fails that is to stop
// the batch, the results cannot be written, or ctx ends. What is under way then is
// waited for, and not an input that says nothing more. stop ends the calls under way too.
func (b *batch) run(ctx context.Context, stop context.CancelFunc, in io.Reader) {
	b.src = &lineReader{r: bufio.NewReaderSize(in, 64<<10), limit: b.f.Limits.WithDefaults().Message}
	defer context.AfterFunc(ctx, b.window.end)()
	filtering, stopFilter := withGrace(ctx, filterGrace)
	defer stopFilter()
	write := func(lines []*batchLine) {
		if b.results.write(filtering, lines) != nil { // further results are not written
			stop()
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
	ended := make(chan struct{})
	go func() { callers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-b.window.ended:
		b.window.drain()
	}
	b.window.locked(b.results.flush)
}

// next gives the next line to a free worker; nil where there is none any more.
func (b *batch) next() *batchLine {
	b.readToken <- struct{}{}
	defer func() { <-b.readToken }()
	if !b.window.waitForRoom() {
		return nil
	}
	if b.src.r.Buffered() == 0 { // a program that waits for a result before its next line gets it
		b.window.locked(b.results.flush)
	}
	l, err := b.src.next()
	if err != nil || !b.window.add(l) {
		return nil
	}
	return l
}

// serve makes the call of one line, unless the batch has ended.
func (b *batch) handle(ctx context.Context, l *batchLine) {
	l.omitted = b.window.isOver()
	if l.omitted {
		return
	}
	began := b.f.Now()
	echo, out := b.lineOutcome(ctx, l)
	took := b.f.Now().Sub(began)
	out = cmdutil.Signalled(ctx, out)
	b.f.Env.GaveUp(out, out.ExitCode())
	// What was not sent when the batch was interrupted was not done.
	l.omitted = out.Kind == wire.Signal && out.Reached == wire.Unsent
	if l.omitted {
		return
	}
	if !out.Good() {
		out = b.f.WithoutSecrets(connect.ExplainAuthFailure(&b.f.Env, out))
	}
	l.kind, l.out = out.Kind, report.CallLine(b.f.ErrStyle, l.number, echo, out, b.f.HasAnswer(out), took)
	if b.stop && !out.Good() {
		b.window.end()
	}
}

// outcome is that of one line. A bug in one of them does not take the results of
// the others along.
func (b *batch) lineOutcome(ctx context.Context, l *batchLine) (echo []jsonraw.Member, out wire.Outcome) {
	defer func() {
		if crash := recover(); crash != nil {
			out = wire.Outcome{
				Kind:    wire.Internal,
				Text:    fmt.Sprint(crash),
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
