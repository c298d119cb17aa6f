package main

import (
	"context"
	"slices"
	"time"

	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// followEvery is how often `mcpc log --follow` looks.
const followEvery = 200 * time.Millisecond

// A follower prints each exchange once, when it came to its end.
type follower struct {
	a    *app
	o    logOptions
	fits func(*trace.Row) bool
	// open are the captures that may still grow, by their path, nil where the head is
	// not written yet; seen is the last run of the ring that was looked at.
	open map[string]*trace.Capture
	done map[string]map[int]bool
	seen int
	// listed are the rows with which it began, for a reader in grid.
	listed  map[rowKey]bool
	columns []render.Column
	grid    *render.Grid
}

// A rowKey tells a row from all others.
type rowKey struct {
	path       string
	run, index int
}

// follow prints what there is and then what comes, until it is interrupted. What comes
// while it lists what there is, is listed or comes.
func (a *app) follow(ctx context.Context, o logOptions) {
	f := &follower{a: a, o: o, fits: a.matching(o.filter), open: map[string]*trace.Capture{}, done: map[string]map[int]bool{}, listed: map[rowKey]bool{}}
	f.look(ctx, true)
	rows, out := a.rows(ctx, o.file, f.fits, o.count)
	if !out.Good() {
		a.end(out)
		return
	}
	f.begin(ctx, rows)
	a.talking.Store(true) // an interrupt ends it in order
	defer a.talking.Store(false)
	for {
		timer := time.NewTimer(followEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			a.end(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
			return
		case <-timer.C:
			f.look(ctx, false)
		}
		if a.unread() || a.ending.Kind != wire.OK {
			return
		}
	}
}

// begin prints the rows that there are, under a head for a reader.
func (f *follower) begin(ctx context.Context, rows []*trace.Row) {
	if style := f.a.outStyle; style.Terminal && !f.o.lines {
		f.columns = logColumns(style, true, true)
		f.grid = render.NewGrid(f.a.stdout(), style, f.columns, logCells(f.columns, rows, f.a.now()))
		_ = f.grid.Head()
	}
	for _, row := range rows {
		f.print(ctx, row)
		if !row.Open() {
			f.listed[rowKey{row.Path(), row.Run, row.Index}] = true
		}
	}
}

// look reads on in every capture that may have grown. The first look passes over
// what was listed already.
func (f *follower) look(ctx context.Context, first bool) {
	for _, path := range f.paths() {
		c := f.open[path]
		if c == nil {
			opened, err := trace.Open(path)
			if err != nil {
				f.open[path] = nil
				continue
			}
			c = opened
			f.open[path], f.done[path] = c, map[int]bool{}
		} else if _, err := c.Refresh(); err != nil {
			delete(f.open, path)
			continue
		}
		f.news(ctx, path, c, first)
	}
}

func (f *follower) news(ctx context.Context, path string, c *trace.Capture, first bool) {
	for i, row := range c.Rows() {
		if f.done[path][i] || !c.Ended() && row.Open() {
			continue
		}
		f.done[path][i] = true
		if !first && !row.Elsewhere && !f.listed[rowKey{path, row.Run, row.Index}] && f.fits(row) {
			f.print(ctx, row)
		}
	}
	c.Close()
	if f.o.file == "" && c.Ended() {
		delete(f.open, path)
		delete(f.done, path)
	}
}

// paths are the captures to look at: those that are open and the new ones.
func (f *follower) paths() (paths []string) {
	if f.o.file != "" {
		return []string{f.o.file}
	}
	for path := range f.open {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	ring, err := f.a.ring()
	if err != nil {
		return paths
	}
	runs, _ := ring.Runs()
	for _, run := range runs {
		if run.Number > f.seen {
			paths = append(paths, run.Path)
			f.seen = run.Number
		}
	}
	return paths
}

func (f *follower) print(ctx context.Context, row *trace.Row) {
	if f.o.lines {
		f.a.logLines(ctx, []*trace.Row{row})
		return
	}
	if f.grid == nil {
		_ = render.Table(f.a.stdout(), f.a.outStyle, nil, logLine([]*trace.Row{row}))
		return
	}
	_ = f.grid.Rows(logCells(f.columns, []*trace.Row{row}, f.a.now()))
}
