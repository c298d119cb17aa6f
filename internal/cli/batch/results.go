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

// A resultWriter writes the results of a batch in the order of their lines. Its methods run one
// at a time: under the lock of the window, or behind the last call.
type resultWriter struct {
	f        *cmdutil.Factory
	window   *window
	out      *bufio.Writer
	flushing bool // soon
	// lineFailed is the failure to print a result, which ends the batch.
	lineErr   error
	tally     tally
	lastShown time.Time
}

// write writes results, shows a person how many there are, and returns what unprinted
// does.
func (r *resultWriter) write(ctx context.Context, lines []*batchLine) error {
	for _, l := range lines {
		r.writeLine(ctx, l)
	}
	r.flushSoon()
	r.showProgress()
	return r.unprinted()
}

// flushWithin is how long a result may wait for those behind it, to be written with
// them: a write for each would cost its reader more than all the rest.
const maxFlushDelay = 2 * time.Millisecond

func (r *resultWriter) flushSoon() {
	if !r.flushing && r.out.Buffered() > 0 {
		r.flushing = true
		time.AfterFunc(maxFlushDelay, func() { r.window.locked(r.flush) })
	}
}

func (r *resultWriter) flush() {
	r.flushing = false
	_ = r.out.Flush()
}

// unprinted returns the first failure to print a result, nil where none failed.
func (r *resultWriter) unprinted() error { return cmp.Or(r.lineErr, r.f.StdoutError()) }

// writeLine writes one result and counts it.
func (r *resultWriter) writeLine(ctx context.Context, l *batchLine) {
	if l.omitted || r.unprinted() != nil {
		return
	}
	if r.f.Jq == "" && !r.f.OutStyle.Terminal {
		_, _ = r.out.Write(l.out)
	} else if err := cmdutil.TryLine(ctx, r.f, bytes.TrimSuffix(l.out, []byte("\n"))); cmdutil.IsStopped(err) {
		return
	} else if cmdutil.IsUsage(err) && r.unprinted() == nil {
		// One result that --jq cannot take is no reason to leave out the others.
		r.f.Warn(fmt.Sprintf("line %d: %s", l.number, err))
		l.kind = cmdutil.MoreSevere(l.kind, wire.Usage)
	} else {
		r.lineErr = r.f.LineError(err)
	}
	r.tally.add(l.number, l.kind)
}

// tell shows a person how far it came.
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

// filterGrace is how long --jq may go on after a batch was interrupted: what was sent
// has its line, unless the expression has no end.
const filterGrace = time.Second

// outlasting is a context that ends some time after ctx does.
func withGrace(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(grace, stop) })
	return longer, stop
}

// A tally counts the results of a batch.
type tally struct {
	began time.Time
	kinds map[wire.Kind]int
	// lines is how many results there are, firstFailed the number of the first line that was
	// not good, last that of the last result.
	lines, firstFailed, lastLine int
}

func (t *tally) add(number int, kind wire.Kind) {
	t.kinds[kind]++
	t.lines = t.lines + 1
	t.lastLine = number
	if kind != wire.OK && t.firstFailed == 0 {
		t.firstFailed = number
	}
}

// failed is how many results were not good.
func (t *tally) failed() int { return t.lines - t.kinds[wire.OK] }

// rate is how many results there were in a second.
func (t *tally) rate(took time.Duration) float64 { return float64(t.lines) / took.Seconds() }

// worst is the most severe kind.
func (t *tally) mostSevere() (worst wire.Kind) {
	for kind := range t.kinds {
		worst = cmdutil.MoreSevere(worst, kind)
	}
	return worst
}

// counts are those of the kinds that are not good, the worst first.
func (t *tally) failures() (text string) {
	for _, kind := range cmdutil.WorstFirst() {
		if n := t.kinds[kind]; n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n, kind)
		}
	}
	return text
}
