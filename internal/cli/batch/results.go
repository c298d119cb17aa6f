package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/console"
	"mcpc/internal/english"
	"mcpc/internal/wire"
)

// A resultWriter writes the results of a batch in the order of their lines. Its methods need the
// lock of the window, until the last call has ended.
type resultWriter struct {
	f        *cmdutil.Factory
	window   *window
	out      *bufio.Writer
	flushing bool // a timer will flush out
	// lineErr is the failure to print a result. It ends the batch.
	lineErr   error
	tally     tally
	lastShown time.Time
}

// write writes results, shows progress, and returns the first failure to print.
func (r *resultWriter) write(ctx context.Context, lines []*batchLine) error {
	for _, l := range lines {
		r.writeLine(ctx, l)
	}
	r.flushSoon()
	r.showProgress()
	return r.unprinted()
}

// maxFlushDelay is how long a result may wait for the next results: a write for each would cost its
// reader more than all the rest.
const maxFlushDelay = 2 * time.Millisecond

// flushSoon flushes the results after maxFlushDelay, unless a flush is planned already.
func (r *resultWriter) flushSoon() {
	if !r.flushing && r.out.Buffered() > 0 {
		r.flushing = true
		time.AfterFunc(maxFlushDelay, func() { r.window.withLock(r.flush) })
	}
}

// flush writes the buffered results to standard output, which keeps the error for unprinted.
func (r *resultWriter) flush() {
	r.flushing = false
	_ = r.out.Flush()
}

// unprinted returns the first failure to print a result, or nil.
func (r *resultWriter) unprinted() error { return cmp.Or(r.lineErr, r.f.StdoutError()) }

// writeLine writes one result and counts it. After a failure to print it does nothing.
func (r *resultWriter) writeLine(ctx context.Context, l *batchLine) {
	if l.omitted || r.unprinted() != nil {
		return
	}
	if r.f.Jq == "" && !r.f.OutStyle.Terminal { // the fast way: the bytes are written as they are
		_, _ = r.out.Write(l.out)
		r.tally.add(l.number, l.kind)
		return
	}
	err := cmdutil.TryLine(ctx, r.f, bytes.TrimSuffix(l.out, []byte("\n")))
	if cmdutil.IsInterrupted(err) { // --jq did not end within filterGrace
		return
	}
	if cmdutil.IsUsage(err) && r.unprinted() == nil { // --jq failed on this result, but may print others
		r.f.Warn(fmt.Sprintf("line %d: %s", l.number, err))
		l.kind = cmdutil.MoreSevere(l.kind, wire.Usage)
	} else {
		r.lineErr = r.f.LineError(err)
	}
	r.tally.add(l.number, l.kind)
}

// showProgress shows the number of results on a terminal, at most once every console.TickEvery.
func (r *resultWriter) showProgress() {
	now := r.f.Now()
	if !r.f.ErrStyle.Terminal || now.Sub(r.lastShown) < console.TickEvery {
		return
	}
	r.lastShown = now
	text := english.Plural(r.tally.lines, "call")
	if failed := r.tally.failed(); failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if took := now.Sub(r.tally.began); took > time.Second {
		text += fmt.Sprintf(", %.0f a second", r.tally.rate(took))
	}
	r.f.Progress.Waiting(text, "stops the batch")
}

// filterGrace is how long --jq may run after an interruption, so that each call that was sent has
// its line unless the expression never ends.
const filterGrace = time.Second

// withGrace returns a context that ends some time after ctx.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })
	return longer, stop
}

// A tally counts the results of a batch.
type tally struct {
	began time.Time
	kinds map[wire.Kind]int
	// lines is the number of results.
	lines int
	// firstFailed is the number of the first line that failed, or 0 if no line failed.
	firstFailed int
	// lastLine is the number of the line of the last result.
	lastLine int
}

// add counts the result of the line with this number.
func (t *tally) add(number int, kind wire.Kind) {
	t.kinds[kind]++
	t.lines++
	t.lastLine = number
	if kind != wire.OK && t.firstFailed == 0 {
		t.firstFailed = number
	}
}

// failed returns the number of results that are not OK.
func (t *tally) failed() int { return t.lines - t.kinds[wire.OK] }

// rate returns the number of results a second.
func (t *tally) rate(took time.Duration) float64 { return float64(t.lines) / took.Seconds() }

// mostSevere returns the most severe kind of all results.
func (t *tally) mostSevere() wire.Kind {
	mostSevere := wire.OK
	for kind := range t.kinds {
		mostSevere = cmdutil.MoreSevere(mostSevere, kind)
	}
	return mostSevere
}

// failures counts the failed results by kind, the most severe first: "2 tool_error, 1 timeout".
func (t *tally) failures() string {
	text := ""
	for _, kind := range cmdutil.KindsBySeverity() {
		if n := t.kinds[kind]; n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n, kind)
		}
	}
	return text
}
