package traffic

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/live"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A follower prints each exchange when it ends, and an exchange that hangs before that too. It opens
// each capture once and continues reading from there, so that no exchange is missed or printed twice
// between the first list and the new rows.
type follower struct {
	factory *cmdutil.Factory
	options logOptions
	matches func(*rows.Row) bool
	tail    *live.Tail
	columns []term.Column
	grid    *term.Grid
	// waiting holds the rows that have not ended. printed holds the ended rows of running runs,
	// whether they matched or not. All rows of an ended run are printed up to the offset in ended.
	waiting, printed map[rows.RowKey]*rows.Row
	endedOffsets     map[int]int64
	// printedOpen are the exchanges that were printed before they ended, printedCancelled the
	// exchanges that were printed as cancelled.
	printedOpen, printedCancelled map[openKey]bool
}

// An openKey identifies an exchange, also if its recording continues in another file.
type openKey struct {
	recorder, target, method, id string
	startNanos                   int64
}

func openKeyOf(row *rows.Row) openKey {
	return openKey{row.By, row.Target, row.Method, row.ID, row.Time.UnixNano()}
}

func newFollower(f *cmdutil.Factory, o logOptions, matches func(*rows.Row) bool) *follower {
	return &follower{
		factory: f, options: o, matches: matches, printedOpen: map[openKey]bool{}, printedCancelled: map[openKey]bool{},
		waiting: map[rows.RowKey]*rows.Row{}, printed: map[rows.RowKey]*rows.Row{}, endedOffsets: map[int]int64{},
	}
}

const (
	// followEvery is how often `mcpc log --follow` looks for new frames.
	followEvery = 200 * time.Millisecond
	// quietTime is how long an exchange with a response waits for more frames, such as the outcome of
	// a command. It waits no longer if no frame was added between two looks.
	quietTime = time.Second
	// hangTime is the age from which an exchange without a response is printed as open.
	hangTime = time.Second
	// abandonTime is how long nothing was added to a server request that is printed as open.
	abandonTime = time.Minute
)

// runFollow prints the recorded rows and then new ones, until it is interrupted or its standard
// output is closed.
func runFollow(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	follow := newFollower(f, o, recorded.Matching(f, o.filter))
	rows, out := follow.openAll(ctx)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	err := follow.printFirst(ctx, rows)
	f.IsConnected.Store(true) // an interrupt is handled below
	defer f.IsConnected.Store(false)
	for err == nil && f.StdoutClosed() == nil {
		timer := time.NewTimer(followEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			err = cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
		case <-timer.C:
			err = follow.print(ctx, follow.nextRows())
		}
	}
	return err
}

// openAll opens the existing captures, newest first, and returns the rows to print first: the last
// --count rows that match, oldest first. It stops early if ctx ends. A capture of the ring that cannot
// be read is a warning, the file of --file a failure.
func (f *follower) openAll(ctx context.Context) ([]*rows.Row, wire.Outcome) {
	ring, err := f.factory.Env.Ring()
	if err != nil && f.options.file == "" {
		return nil, connect.StateFailed(err)
	}
	f.tail, err = live.NewTail(live.Options{
		Path: f.options.file,
		Ring: ring,
		Open: func(path string) (*rows.Capture, error) { return recorded.OpenIndexed(f.factory, path) },
		Now:  f.factory.Now,
	})
	if err != nil {
		return nil, usage.LocalIO("reading the recordings", err)
	}
	list := newestRows{limit: f.options.count}
	for f.tail.CountUnread() > 0 && ctx.Err() == nil {
		c, written, err := f.tail.OpenOlder()
		switch {
		case err != nil && f.options.file != "":
			return nil, recorded.Unreadable(f.options.file, err)
		case err != nil:
			f.factory.Warn(err.Error())
		case c != nil:
			if f.options.file != "" {
				recorded.WarnDamage(f.factory, c)
			}
			f.addWaiting(c.Rows())
			list.addCapture(written, func() []*rows.Row {
				all := slices.Concat(f.takeEnded(c.Rows(), nil), f.takeHanging(c.Rows()), f.abandonedRequests(c))
				return lastMatching(all, f.matches, f.options.count)
			})
			c.Close()
		}
	}
	return list.sorted(), wire.Outcome{}
}

// printFirst prints the first rows, with a header at a terminal.
func (f *follower) printFirst(ctx context.Context, rows []*rows.Row) error {
	if style := f.factory.OutStyle; style.Terminal && !f.options.lines {
		f.columns = logColumns(style, true, true)
		f.grid = term.NewGrid(f.factory.Stdout(), style, f.columns, logCells(f.columns, rows, f.factory.Now()))
		_ = f.grid.Head()
	}
	return f.print(ctx, rows)
}

// nextRows looks for new frames and returns the rows to print since the last look: matching exchanges
// that ended or hang.
func (f *follower) nextRows() []*rows.Row {
	touched := map[rows.RowKey]bool{}
	f.tail.Step(new(sync.Mutex), func(c live.Changed) { // the mutex is never contended
		if c.DeletedPath != "" {
			gone := func(_ rows.RowKey, row *rows.Row) bool { return row.Path() == c.DeletedPath }
			maps.DeleteFunc(f.waiting, gone)
			maps.DeleteFunc(f.printed, gone)
			delete(f.endedOffsets, c.Run)
		}
		f.addWaiting(c.Rows)
		for _, row := range c.Rows {
			touched[row.Key()] = true
		}
	})
	waiting := slices.Collect(maps.Values(f.waiting))
	all := lastMatching(append(f.takeEnded(waiting, touched), f.takeHanging(waiting)...), f.matches, 0)
	if f.options.file == "" { // a file has one set of rows, the ring gets new runs for ever
		f.forgetEnded()
	}
	return all
}

// forgetEnded replaces the printed rows of ended runs by their last offset, so that memory does not
// grow with each run.
func (f *follower) forgetEnded() {
	maps.DeleteFunc(f.printed, func(key rows.RowKey, row *rows.Row) bool {
		if !row.IsRunOver() {
			return false
		}
		f.endedOffsets[key.Run] = max(f.endedOffsets[key.Run], key.Offset)
		return true
	})
}

// addWaiting adds new rows to the waiting ones, and updates rows that were read again.
func (f *follower) addWaiting(rows []*rows.Row) {
	for _, row := range rows {
		key := row.Key()
		endOffset, isEnded := f.endedOffsets[key.Run]
		switch {
		case isEnded && key.Offset <= endOffset: // printed before its run ended
		case f.printed[key] != nil: // keeps the newer row, without printing it again
			f.printed[key] = row
		default:
			f.waiting[key] = row
		}
	}
}

// takeEnded returns the waiting rows that have ended, and marks them as printed. An exchange that was
// printed as open or as cancelled is not returned again if nothing else happened. touched are the
// rows that changed since the last look; nil means all.
func (f *follower) takeEnded(waiting []*rows.Row, touched map[rows.RowKey]bool) []*rows.Row {
	var ended []*rows.Row
	for _, row := range waiting {
		key := row.Key()
		isCancelled := row.Cancel != nil && !row.Cancel.IsLate && !row.ListedElsewhere
		if isCancelled && row.CancelledEarlier && f.printedCancelled[openKeyOf(row)] {
			continue // printed when it was cancelled
		}
		isUntouched := touched != nil && !touched[key]
		isQuiet := isUntouched || f.factory.Now().Sub(row.LastFrameTime()) > quietTime
		hasEnded := row.IsRunOver() || !row.IsOpen() && isQuiet
		if f.waiting[key] == nil || !hasEnded {
			continue
		}
		delete(f.waiting, key)
		f.printed[key] = row
		if row.IsOpen() && f.printedOpen[openKeyOf(row)] { // it ended without a response: nothing new
			continue
		}
		ended = append(ended, row)
		if isCancelled {
			f.printedCancelled[openKeyOf(row)] = true
		}
	}
	return ended
}

// takeHanging returns the rows that have waited for a response for longer than hangTime, each once.
func (f *follower) takeHanging(waiting []*rows.Row) []*rows.Row {
	var hanging []*rows.Row
	for _, row := range waiting {
		key := openKeyOf(row)
		isWaiting := !row.IsSeparate && row.LacksEnd()
		isLate := f.factory.Now().Sub(row.Time) > hangTime
		if !isWaiting || !isLate || f.printedOpen[key] {
			continue
		}
		f.printedOpen[key] = true
		hanging = append(hanging, row)
	}
	return hanging
}

// abandonedRequests returns the open server requests of a capture to which nothing was added for
// abandonTime. takeHanging leaves them out, because a server may wait long for an answer.
func (f *follower) abandonedRequests(c *rows.Capture) []*rows.Row {
	var abandoned []*rows.Row
	for _, row := range c.Rows() {
		isOpenServerRequest := row.IsSeparate && row.LacksEnd()
		if isOpenServerRequest && f.factory.Now().Sub(row.LastFrameTime()) > abandonTime {
			abandoned = append(abandoned, row)
		}
	}
	return abandoned
}

// print prints rows as JSON lines, as a table, or as the lines for a pipe.
func (f *follower) print(ctx context.Context, rows []*rows.Row) error {
	if len(f.factory.HideSecretsInRows(rows)) == 0 {
		return f.factory.StdoutError()
	}
	if f.options.lines {
		return logLines(ctx, f.factory, rows)
	}
	if f.grid == nil {
		_ = term.Table(f.factory.Stdout(), f.factory.OutStyle, nil, pipeCells(rows, f.factory.Now()))
	} else {
		_ = f.grid.Rows(logCells(f.columns, rows, f.factory.Now()))
	}
	return f.factory.StdoutError()
}
