package main

import (
	"context"
	"slices"
	"time"

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
}

// follow prints what there is and then what comes, until it is interrupted.
func (a *app) follow(ctx context.Context, o logOptions, rows []*trace.Row, fits func(*trace.Row) bool) {
	f := &follower{a: a, o: o, fits: fits, open: map[string]*trace.Capture{}, done: map[string]map[int]bool{}}
	for _, row := range rows {
		f.print(ctx, row)
	}
	a.talking.Store(true) // an interrupt ends it in order
	defer a.talking.Store(false)
	f.look(ctx, true)
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
		if a.ending.Kind != wire.OK {
			return
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
		if !first && f.fits(row) {
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
	_ = logTable(f.a.stdout(), f.a.outStyle, false, []*trace.Row{row}, f.a.now())
}
