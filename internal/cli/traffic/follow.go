package traffic

import (
	"context"
	"slices"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// A follower prints each exchange when it came to its end, and one that hangs before that
// as well: what is under way while it lists what there is comes later. Each capture is opened once
// and read on from there, so that there is no seam between the list and what comes.
type follower struct {
	a    *cmdutil.Factory
	o    logOptions
	fits func(*capture.Row) bool
	// runs are the captures that there are, by their path.
	runs    map[string]*followed
	columns []term.Column
	grid    *term.Grid
	// hung are the exchanges that were given without an end.
	hung map[hanging]bool
}

// A hanging exchange is the same where a recording goes on in another file.
type hanging struct {
	by, target, method, id string
	at                     int64
}

// A followed is a capture that may grow.
type followed struct {
	// capture is nil where the head is not written yet, or nothing more comes.
	capture *capture.Capture
	over    bool
	// given are the rows that came to their end, by their index, whether they fitted or
	// not.
	given map[int]bool
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
	follow := &follower{a: f, o: o, fits: recorded.Matching(f, o.filter), runs: map[string]*followed{}, hung: map[hanging]bool{}}
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
	list := newest{most: f.o.count, fits: f.fits}
	open := func(c *capture.Capture, written time.Time) (more bool) {
		r := &followed{capture: c, given: map[int]bool{}}
		f.runs[c.Path] = r
		list.add(slices.Concat(f.ended(r, nil), f.hangs(c), f.forsaken(c)), written)
		r.release(f.o.file == "")
		return ctx.Err() == nil
	}
	if f.o.file == "" {
		out := recorded.NewestFirst(f.a, open)
		return list.sorted(), out
	}
	c, err := recorded.OpenFile(f.o.file)
	if err != nil {
		return nil, recorded.Unreadable(f.o.file, err)
	}
	recorded.Warn(f.a, c)
	open(c, f.a.Now())
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
func (f *follower) news() (rows []*capture.Row) {
	for _, path := range f.paths() {
		r := f.runs[path]
		touched, err := r.read(path)
		if err != nil {
			continue // it was pruned, or is being made
		}
		rows = append(rows, lastFitting(append(f.ended(r, touched), f.hangs(r.capture)...), f.fits, 0)...)
		r.release(f.o.file == "")
	}
	byTime(rows)
	return rows
}

// paths are the captures to look at, those that are not known yet as well.
func (f *follower) paths() (paths []string) {
	if f.o.file != "" {
		return []string{f.o.file}
	}
	ring, err := f.a.Env.Ring()
	if err != nil {
		return nil
	}
	runs, err := ring.Runs()
	if err != nil {
		return nil
	}
	there := make(map[string]*followed, len(runs))
	for _, run := range runs {
		r := f.runs[run.Path]
		if r == nil {
			r = &followed{given: map[int]bool{}}
		}
		if there[run.Path] = r; !r.over {
			paths = append(paths, run.Path)
		}
	}
	f.runs = there
	return paths
}

// read reads on, and gives the rows that this touched; nil is all.
func (r *followed) read(path string) (touched map[*capture.Row]bool, err error) {
	if r.capture == nil {
		r.capture, err = capture.Open(path)
		return nil, err
	}
	changed, err := r.capture.Refresh()
	touched = map[*capture.Row]bool{}
	for _, row := range changed {
		touched[row] = true
	}
	return touched, err
}

// release lets go of what is not needed before the next look, and where there is one
// run in a capture of all that has come to its end.
func (r *followed) release(oneRun bool) {
	r.capture.Close()
	if oneRun && r.capture.Ended() {
		r.capture, r.given, r.over = nil, nil, true
	}
}

// ended gives the rows of a capture that came to their end and were not given yet.
func (f *follower) ended(r *followed, touched map[*capture.Row]bool) (rows []*capture.Row) {
	c := r.capture
	for i, row := range c.Rows() {
		rests := touched != nil && !touched[row] || f.a.Now().Sub(row.LastFrame()) > atRest
		if row.Repeated && row.Cancel != nil && !row.Cancel.Late {
			continue // it was given where it was cancelled
		}
		if !r.given[i] && (row.RunOver() || !row.Open() && rests) {
			r.given[i] = true
			rows = append(rows, row)
		}
	}
	return rows
}

// hangs returns the rows of a capture that have waited for a response for over a second,
// each once.
func (f *follower) hangs(c *capture.Capture) (rows []*capture.Row) {
	for _, row := range c.Rows() {
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
		_ = term.Table(f.a.Stdout(), f.a.OutStyle, nil, logLine(rows))
	default:
		_ = f.grid.Rows(logCells(f.columns, rows, f.a.Now()))
	}
	return cmdutil.StdoutError(f.a)
}
