package traffic

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/wire"
)

// Rows are listed by the time of their requests, whichever run they are of: a proxy
// goes on recording while commands come and go.

// A selection says which rows are wanted.
type selection struct {
	fits func(*rows.Row) bool
	// may reports whether a row of a page may fit.
	may func(rows.Page) bool
}

func selected(f *cmdutil.Factory, filter filter.Filter) selection {
	return selection{recorded.Matching(f, filter), filter.May}
}

// readRows returns those of a file, or where path is "" of the ring, newest last: at most
// the last so many that are selected, or all where most is 0.
func readRows(ctx context.Context, f *cmdutil.Factory, path string, s selection, most int) ([]*rows.Row, wire.Outcome) {
	list := newest{most: most}
	out := captures(f, path, func(c *rows.Capture, written time.Time) (more bool) {
		return list.add(written, func() []*rows.Row { return s.last(c, most) }) && ctx.Err() == nil
	})
	return list.sorted(), out
}

// captures goes through a file, or where path is "" through the ring, as recorded.NewestFirst.
func captures(f *cmdutil.Factory, path string, look func(c *rows.Capture, written time.Time) (more bool)) wire.Outcome {
	if path == "" {
		carried := rows.Carried{}
		return recorded.NewestFirst(f, func(c *rows.Capture, written time.Time) (more bool) {
			c.ResolveCarried(carried)
			return look(c, written)
		})
	}
	c, err := recorded.OpenIndexed(f, path)
	if err != nil {
		return recorded.Unreadable(path, err)
	}
	defer c.Close()
	recorded.Warn(f, c)
	look(c, time.Time{})
	return wire.Outcome{}
}

// each calls visit with the rows of a capture that are selected, in no order and one at a time. A
// row is visit's during the call only.
func (s selection) each(c *rows.Capture, visit func(*rows.Row)) {
	var one sync.Mutex
	s.pages(c.Pages(), func(r *rows.Row) bool {
		if s.fits(r) {
			one.Lock()
			defer one.Unlock()
			visit(r)
		}
		return false
	})
}

// last are at most so many of the rows of a capture that are selected, the newest, by time; all
// where most is 0.
func (s selection) last(c *rows.Capture, most int) (some []*rows.Row) {
	if c.Count() <= fewPages*atATime {
		return lastFitting(c.Rows(), s.fits, most)
	}
	pages := c.Pages()
	together := 1
	if most == 0 {
		together = len(pages)
	}
	for end := len(pages); end > 0 && (most == 0 || len(some) < most); together *= 2 {
		part := pages[max(0, end-together):end]
		end -= len(part)
		some = append(slices.Concat(s.pages(part, s.fits)...), some...)
	}
	if most > 0 {
		some = some[max(0, len(some)-most):]
	}
	byTime(some)
	return some
}

// fewPages is up to how many pages all rows are unpacked, and looked at one by one.
const fewPages = 8

// pages gives the rows of each page that fit. All processors share the work.
func (s selection) pages(pages []rows.Page, fits func(*rows.Row) bool) [][]*rows.Row {
	some := make([][]*rows.Row, len(pages))
	spread(len(pages), func(i int) {
		if s.may(pages[i]) {
			some[i] = pages[i].Select(func(r *rows.Row) bool { return !r.Elsewhere && fits(r) })
		}
	})
	return some
}

// spread does n pieces of work on all processors.
func spread(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}

// A newest keeps at most so many of the rows that fit, the newest, by time; all where
// most is 0.
type newest struct {
	most int
	rows []*rows.Row
}

// add takes the last rows of a capture that was written last at this time, or before.
// Captures come the newest first: it gives false where no row of this one or of those
// that follow can be among the newest.
func (n *newest) add(written time.Time, last func() []*rows.Row) (more bool) {
	if n.most > 0 && len(n.rows) == n.most && written.Before(n.rows[0].Time) {
		return false
	}
	n.rows = append(n.rows, last()...)
	if n.most > 0 {
		n.rows = n.sorted()[max(0, len(n.rows)-n.most):]
	}
	return true
}

func (n *newest) sorted() []*rows.Row {
	byTime(n.rows)
	return n.rows
}

// lastFitting are at most so many of the rows that fit, the newest, by time; all
// where most is 0. What another part of the recording has is left to that.
func lastFitting(all []*rows.Row, fits func(*rows.Row) bool, most int) []*rows.Row {
	var some []*rows.Row
	for end := len(all); end > 0 && (most == 0 || len(some) < most); {
		part := all[max(0, end-atATime):end]
		end -= len(part)
		verdicts := fitting(part, fits)
		for i := len(part) - 1; i >= 0 && (most == 0 || len(some) < most); i-- {
			if verdicts[i] {
				some = append(some, part[i])
			}
		}
	}
	slices.Reverse(some)
	byTime(some)
	return some
}

// atATime is how many rows are looked at together.
const atATime = 256

// fitting reports of each row whether it fits. All processors share the work: an
// expression over messages takes its time.
func fitting(rows []*rows.Row, fits func(*rows.Row) bool) []bool {
	verdicts := make([]bool, len(rows))
	spread(len(rows), func(i int) { verdicts[i] = !rows[i].Elsewhere && fits(rows[i]) })
	return verdicts
}

// byTime sorts rows by the time of their requests, those of one time by their number.
func byTime(all []*rows.Row) {
	slices.SortStableFunc(all, func(x, y *rows.Row) int {
		return cmp.Or(x.Time.Compare(y.Time), x.Run-y.Run, x.Index-y.Index)
	})
}
