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

// Rows are sorted by the time of their requests, not by run: the run of a proxy overlaps with others.

// A selection says which rows match a filter.
type selection struct {
	matches func(*rows.Row) bool
	// mayMatch reports whether a row of a page may match.
	mayMatch func(rows.Page) bool
}

func newSelection(f *cmdutil.Factory, filter filter.Filter) selection {
	return selection{recorded.Matching(f, filter), filter.MayMatch}
}

// readRows returns the last limit rows that match, oldest first, or all if limit is 0. It reads the
// file at path, or all runs if path is "".
func readRows(
	ctx context.Context,
	f *cmdutil.Factory,
	path string,
	s selection,
	limit int,
) ([]*rows.Row, wire.Outcome) {
	list := newestRows{limit: limit}
	out := eachCapture(f, path, func(c *rows.Capture, written time.Time) (more bool) {
		return list.addCapture(written, func() []*rows.Row { return s.newest(c, limit) }) && ctx.Err() == nil
	})
	return list.sorted(), out
}

// eachCapture calls visit with the file at path, or with all runs as recorded.NewestFirst does if
// path is "".
func eachCapture(
	f *cmdutil.Factory,
	path string,
	visit func(c *rows.Capture, written time.Time) (more bool),
) wire.Outcome {
	if path == "" {
		carried := rows.Carried{}
		return recorded.NewestFirst(f, func(c *rows.Capture, written time.Time) (more bool) {
			c.ResolveCarried(carried)
			return visit(c, written)
		})
	}
	c, err := recorded.OpenIndexed(f, path)
	if err != nil {
		return recorded.Unreadable(path, err)
	}
	defer c.Close()
	recorded.WarnDamage(f, c)
	visit(c, time.Time{})
	return wire.Outcome{}
}

// each calls visit with the matching rows of a capture, one at a time and in no order. Visit must
// not keep the row.
func (s selection) each(c *rows.Capture, visit func(*rows.Row)) {
	var mu sync.Mutex
	s.matchingIn(c.Pages(), func(r *rows.Row) bool {
		if s.matches(r) {
			mu.Lock()
			defer mu.Unlock()
			visit(r)
		}
		return false
	})
}

// newest returns the matching rows of a capture, at most the last limit ones, or all if limit is 0,
// sorted by time. It reads pages from the end, and twice as many each time: the last page often has
// enough rows.
func (s selection) newest(c *rows.Capture, limit int) []*rows.Row {
	if c.Count() <= minPaged { // reading all rows is cheaper than reading pages
		return lastMatching(c.Rows(), s.matches, limit)
	}
	var found []*rows.Row
	pages := c.Pages()
	pagesToRead := 1
	if limit == 0 {
		pagesToRead = len(pages)
	}
	for len(pages) > 0 && (limit == 0 || len(found) < limit) {
		start := max(0, len(pages)-pagesToRead)
		found = append(slices.Concat(s.matchingIn(pages[start:], s.matches)...), found...)
		pages = pages[:start]
		pagesToRead *= 2
	}
	if limit > 0 {
		found = found[max(0, len(found)-limit):]
	}
	sortByTime(found)
	return found
}

// minPaged is the number of rows up to which all rows are read at once.
const minPaged = 8 * batchSize

// matchingIn returns the rows of each page for which matches returns true, in the order of the pages.
// It skips pages that cannot match, and rows that another part of the recording lists. It uses all
// processors, so matches must be safe for concurrent use.
func (s selection) matchingIn(pages []rows.Page, matches func(*rows.Row) bool) [][]*rows.Row {
	found := make([][]*rows.Row, len(pages))
	runParallel(len(pages), func(i int) {
		if s.mayMatch(pages[i]) {
			found[i] = pages[i].Select(func(r *rows.Row) bool { return !r.ListedElsewhere && matches(r) })
		}
	})
	return found
}

// runParallel calls do with 0 to n-1 on all processors.
func runParallel(n int, do func(i int)) {
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

// newestRows collects the newest rows: at most limit, or all if limit is 0.
type newestRows struct {
	limit int
	rows  []*rows.Row
}

// addCapture adds the last rows of a capture that was written at or before written. Captures are
// added newest first: it returns false, and adds nothing, once no later capture can have rows that
// are new enough.
func (n *newestRows) addCapture(written time.Time, last func() []*rows.Row) bool {
	if n.limit > 0 && len(n.rows) == n.limit && written.Before(n.rows[0].Time) {
		return false
	}
	n.rows = append(n.rows, last()...)
	if n.limit > 0 {
		n.rows = n.sorted()[max(0, len(n.rows)-n.limit):]
	}
	return true
}

func (n *newestRows) sorted() []*rows.Row {
	sortByTime(n.rows)
	return n.rows
}

// lastMatching returns the last limit rows of all that match, or all that match if limit is 0, sorted
// by time. It skips rows that another part of the recording lists.
func lastMatching(all []*rows.Row, matches func(*rows.Row) bool, limit int) []*rows.Row {
	var found []*rows.Row // the last row first
	needsMore := func() bool { return limit == 0 || len(found) < limit }
	for end := len(all); end > 0 && needsMore(); {
		batch := all[max(0, end-batchSize):end]
		end -= len(batch)
		matched := matchAll(batch, matches)
		for i := len(batch) - 1; i >= 0 && needsMore(); i-- {
			if matched[i] {
				found = append(found, batch[i])
			}
		}
	}
	slices.Reverse(found)
	sortByTime(found)
	return found
}

// batchSize is how many rows are matched together.
const batchSize = 256

// matchAll reports for each row whether it matches. It uses all processors, because an expression
// over messages may be slow.
func matchAll(rows []*rows.Row, matches func(*rows.Row) bool) []bool {
	matched := make([]bool, len(rows))
	runParallel(len(rows), func(i int) { matched[i] = !rows[i].ListedElsewhere && matches(rows[i]) })
	return matched
}

// sortByTime sorts rows by the time of their requests, then by number.
func sortByTime(all []*rows.Row) {
	slices.SortStableFunc(all, func(x, y *rows.Row) int {
		return cmp.Or(x.Time.Compare(y.Time), x.Run-y.Run, x.Index-y.Index)
	})
}
