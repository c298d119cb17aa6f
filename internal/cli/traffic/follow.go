package traffic

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mcpc/internal/capture"
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
	fits    func(*capture.Row) bool
	tail    *live.Tail
	columns []term.Column
	grid    *term.Grid
	// waiting are the rows that are not given yet, given those that are, whether they fitted
	// or not, as long as more of them may come.
	waiting, given map[*capture.Row]bool
	// hung are the exchanges that were given without an end.
	hung map[hanging]bool
}

// A hanging exchange is the same where a recording goes on in another file.
type hanging struct {
	by, target, method, id string
	at                     int64
}

func newFollower(a *cmdutil.Factory, o logOptions, fits func(*capture.Row) bool) *follower {
	return &follower{a: a, o: o, fits: fits, waiting: map[*capture.Row]bool{}, given: map[*capture.Row]bool{}, hung: map[hanging]bool{}}
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
	for err == nil && cmdutil.StdoutClosed(f) == nil {
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
func (f *follower) first(ctx context.Context) ([]*capture.Row, wire.Outcome) {
	ring, err := f.a.Env.Ring()
	if err != nil && f.o.file == "" {
		return nil, connect.StateFailed(err)
	}
	f.tail, err = live.NewTail(live.Options{Path: f.o.file, Ring: ring, Open: func(path string) (*capture.Capture, error) { return recorded.OpenIndexed(f.a, path) }, Now: f.a.Now})
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
			list.add(written, func() []*capture.Row {
				return lastFitting(slices.Concat(f.ended(c.Rows(), nil), f.hangs(c.Rows()), f.forsaken(c)), f.fits, f.o.count)
			})
			c.Close()
		}
	}
	return list.sorted(), wire.Outcome{}
}

// begin prints the rows that there are, under a head for a reader.
func (f *follower) begin(ctx context.Context, rows []*capture.Row) error {
	if style := f.a.OutStyle; style.Terminal && !f.o.lines {
		f.columns = logColumns(style, true, true)
		f.grid = term.NewGrid(f.a.Stdout(), style, f.columns, logCells(f.columns, rows, f.a.Now()))
		_ = f.grid.Head()
	}
	return f.print(ctx, rows)
}

// news gives the rows that came to their end since the last look.
func (f *follower) news() []*capture.Row {
	touched := map[*capture.Row]bool{}
	f.tail.Step(new(sync.Mutex), func(c live.Changed) { // there is no other goroutine
		f.take(c.Rows)
		for _, row := range c.Rows {
			touched[row] = true
		}
		if c.Gone != "" {
			gone := func(row *capture.Row, _ bool) bool { return row.Path() == c.Gone }
			maps.DeleteFunc(f.waiting, gone)
			maps.DeleteFunc(f.given, gone)
		}
	})
	waiting := slices.Collect(maps.Keys(f.waiting))
	rows := lastFitting(append(f.ended(waiting, touched), f.hangs(waiting)...), f.fits, 0)
	if f.o.file == "" {
		maps.DeleteFunc(f.given, func(row *capture.Row, _ bool) bool { return row.RunOver() })
	}
	return rows
}

// take notes rows that are new.
func (f *follower) take(rows []*capture.Row) {
	for _, row := range rows {
		if !f.given[row] {
			f.waiting[row] = true
		}
	}
}

// ended gives those of the rows that came to their end. touched are those that changed since the
// last look; nil is all.
func (f *follower) ended(waiting []*capture.Row, touched map[*capture.Row]bool) (rows []*capture.Row) {
	for _, row := range waiting {
		rests := touched != nil && !touched[row] || f.a.Now().Sub(row.LastFrame()) > atRest
		if row.Repeated && row.Cancel != nil && !row.Cancel.Late {
			continue // it was given where it was cancelled
		}
		if f.waiting[row] && (row.RunOver() || !row.Open() && rests) {
			delete(f.waiting, row)
			f.given[row] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// hangs returns those of the rows that have waited for a response for over a second, each once.
func (f *follower) hangs(waiting []*capture.Row) (rows []*capture.Row) {
	for _, row := range waiting {
		is := hanging{row.By, row.Target, row.Method, row.ID, row.Time.UnixNano()}
		if row.Apart || !row.Unended() || f.hung[is] || f.a.Now().Sub(row.Time) <= hangsFrom {
			continue
		}
		f.hung[is] = true
		rows = append(rows, row)
	}
	return rows
}

// forsaken gives the rows of a capture without an end to which nothing was added for long.
func (f *follower) forsaken(c *capture.Capture) []*capture.Row {
	return slices.DeleteFunc(slices.Clone(c.Rows()), func(row *capture.Row) bool {
		return !row.Apart || !row.Unended() || f.a.Now().Sub(row.LastFrame()) <= givenUp
	})
}

func (f *follower) print(ctx context.Context, rows []*capture.Row) error {
	switch {
	case len(cmdutil.HideRows(f.a, rows)) == 0:
	case f.o.lines:
		return logLines(ctx, f.a, rows)
	case f.grid == nil:
		_ = term.Table(f.a.Stdout(), f.a.OutStyle, nil, logLine(rows, f.a.Now()))
	default:
		_ = f.grid.Rows(logCells(f.columns, rows, f.a.Now()))
	}
	return cmdutil.StdoutError(f.a)
}
