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

// A follower prints each exchange when it came to its end, and one that hangs before that
// as well: what is under way while it lists what there is comes later. Each capture is opened once
// and read on from there, so that there is no seam between the list and what comes.
type follower struct {
	a       *cmdutil.Factory
	o       logOptions
	fits    func(*rows.Row) bool
	tail    *live.Tail
	columns []term.Column
	grid    *term.Grid
	// waiting are the rows that are not given yet, given those that are, whether they fitted
	// or not, as long as more of them may come. Of a run that ended all rows are given as far
	// as the offset in ended.
	waiting, given map[rows.RowKey]*rows.Row
	ended          map[int]int64
	// hung are the exchanges that were given without an end, cancelled those that were given as cancelled.
	hung, cancelled map[hanging]bool
}

// A hanging exchange is the same where a recording goes on in another file.
type hanging struct {
	by, target, method, id string
	at                     int64
}

func hangingOf(row *rows.Row) hanging {
	return hanging{row.By, row.Target, row.Method, row.ID, row.Time.UnixNano()}
}

func newFollower(a *cmdutil.Factory, o logOptions, fits func(*rows.Row) bool) *follower {
	return &follower{a: a, o: o, fits: fits, hung: map[hanging]bool{}, cancelled: map[hanging]bool{},
		waiting: map[rows.RowKey]*rows.Row{}, given: map[rows.RowKey]*rows.Row{}, ended: map[int]int64{}}
}

const (
	// followEvery is how often `mcpc log --follow` looks.
	followEvery = 200 * time.Millisecond
	// atRest is how long after its last frame an exchange is taken for ended: an answer
	// may follow a status, a command's own ending an answer, and recorders write what
	// they have several times a second. It also counts as ended where no frame came
	// between two looks.
	atRest = time.Second
	// hangsFrom is from when on an exchange is given although it has no end.
	hangsFrom = time.Second
	// givenUp is after how long without any frame an exchange is listed as open, as one
	// is whose recorder was killed. If it does end it comes as well.
	givenUp = time.Minute
)

// runFollow prints what there is and then what comes, until it is interrupted or the reader
// of its standard output is gone.
func runFollow(ctx context.Context, f *cmdutil.Factory, o logOptions) error {
	follow := newFollower(f, o, recorded.Matching(f, o.filter))
	rows, out := follow.first(ctx)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	err := follow.begin(ctx, rows)
	f.Talking.Store(true) // an interrupt ends it in order
	defer f.Talking.Store(false)
	for err == nil && f.StdoutClosed() == nil {
		timer := time.NewTimer(followEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			err = cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
		case <-timer.C:
			err = follow.print(ctx, follow.news())
		}
	}
	return err
}

// first opens the captures that there are and gives their rows.
func (f *follower) first(ctx context.Context) ([]*rows.Row, wire.Outcome) {
	ring, err := f.a.Env.Ring()
	if err != nil && f.o.file == "" {
		return nil, connect.StateFailed(err)
	}
	f.tail, err = live.NewTail(live.Options{
		Path: f.o.file,
		Ring: ring,
		Open: func(path string) (*rows.Capture, error) { return recorded.OpenIndexed(f.a, path) },
		Now:  f.a.Now,
	})
	if err != nil {
		return nil, usage.LocalIO("reading the recordings", err)
	}
	list := newest{most: f.o.count}
	for f.tail.Left() > 0 && ctx.Err() == nil {
		c, written, err := f.tail.Older()
		switch {
		case err != nil && f.o.file != "":
			return nil, recorded.Unreadable(f.o.file, err)
		case err != nil:
			f.a.Warn(err.Error())
		case c != nil:
			if f.o.file != "" {
				recorded.Warn(f.a, c)
			}
			f.take(c.Rows())
			list.add(written, func() []*rows.Row {
				return lastFitting(slices.Concat(f.thatEnded(c.Rows(), nil), f.hangs(c.Rows()), f.forsaken(c)), f.fits, f.o.count)
			})
			c.Close()
		}
	}
	return list.sorted(), wire.Outcome{}
}

// begin prints the rows that there are, under a head for a reader.
func (f *follower) begin(ctx context.Context, rows []*rows.Row) error {
	if style := f.a.OutStyle; style.Terminal && !f.o.lines {
		f.columns = logColumns(style, true, true)
		f.grid = term.NewGrid(f.a.Stdout(), style, f.columns, logCells(f.columns, rows, f.a.Now()))
		_ = f.grid.Head()
	}
	return f.print(ctx, rows)
}

// news gives the rows that came to their end since the last look.
func (f *follower) news() []*rows.Row {
	touched := map[rows.RowKey]bool{}
	f.tail.Step(new(sync.Mutex), func(c live.Changed) { // there is no other goroutine
		if c.Gone != "" {
			gone := func(_ rows.RowKey, row *rows.Row) bool { return row.Path() == c.Gone }
			maps.DeleteFunc(f.waiting, gone)
			maps.DeleteFunc(f.given, gone)
			delete(f.ended, c.Run)
		}
		f.take(c.Rows)
		for _, row := range c.Rows {
			touched[row.Key()] = true
		}
	})
	waiting := slices.Collect(maps.Values(f.waiting))
	all := lastFitting(append(f.thatEnded(waiting, touched), f.hangs(waiting)...), f.fits, 0)
	if f.o.file == "" {
		f.forgetEnded()
	}
	return all
}

// forgetEnded keeps of runs that ended how far their rows are given, and not the rows.
func (f *follower) forgetEnded() {
	maps.DeleteFunc(f.given, func(key rows.RowKey, row *rows.Row) bool {
		if !row.RunOver() {
			return false
		}
		f.ended[key.Run] = max(f.ended[key.Run], key.Offset)
		return true
	})
}

// take notes rows that are new, or were read again.
func (f *follower) take(rows []*rows.Row) {
	for _, row := range rows {
		key := row.Key()
		end, over := f.ended[key.Run]
		switch {
		case over && key.Offset <= end:
		case f.given[key] != nil:
			f.given[key] = row
		default:
			f.waiting[key] = row
		}
	}
}

// thatEnded returns the rows that came to their end. touched are those that changed since the
// last look; nil is all.
func (f *follower) thatEnded(waiting []*rows.Row, touched map[rows.RowKey]bool) (rows []*rows.Row) {
	for _, row := range waiting {
		key := row.Key()
		rests := touched != nil && !touched[key] || f.a.Now().Sub(row.LastFrame()) > atRest
		cancelled := row.Cancel != nil && !row.Cancel.Late && !row.Elsewhere
		if cancelled && row.Repeated && f.cancelled[hangingOf(row)] {
			continue // it was given where it was cancelled
		}
		if f.waiting[key] != nil && (row.RunOver() || !row.Open() && rests) {
			delete(f.waiting, key)
			f.given[key] = row
			if row.Open() && f.hung[hangingOf(row)] {
				continue
			}
			rows = append(rows, row)
			if cancelled {
				f.cancelled[hangingOf(row)] = true
			}
		}
	}
	return rows
}

// hangs returns those of the rows that have waited for a response for over a second, each once.
func (f *follower) hangs(waiting []*rows.Row) (rows []*rows.Row) {
	for _, row := range waiting {
		is := hangingOf(row)
		if row.Apart || !row.Unended() || f.hung[is] || f.a.Now().Sub(row.Time) <= hangsFrom {
			continue
		}
		f.hung[is] = true
		rows = append(rows, row)
	}
	return rows
}

// forsaken gives the rows of a capture without an end to which nothing was added for long.
func (f *follower) forsaken(c *rows.Capture) []*rows.Row {
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(row *rows.Row) bool {
		return !row.Apart || !row.Unended() || f.a.Now().Sub(row.LastFrame()) <= givenUp
	})
}

func (f *follower) print(ctx context.Context, rows []*rows.Row) error {
	switch {
	case len(f.a.HideRows(rows)) == 0:
	case f.o.lines:
		return logLines(ctx, f.a, rows)
	case f.grid == nil:
		_ = term.Table(f.a.Stdout(), f.a.OutStyle, nil, logLine(rows, f.a.Now()))
	default:
		_ = f.grid.Rows(logCells(f.columns, rows, f.a.Now()))
	}
	return f.a.StdoutError()
}
