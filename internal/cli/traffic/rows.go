package traffic

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/wire"
)

// Rows are listed by the time of their requests, whichever run they are of: a proxy
// goes on recording while commands come and go.

// rows are those of a file, or where path is "" of the ring, newest last: at most
// the last so many that fit, or all where most is 0.
func rows(ctx context.Context, f *cmdutil.Factory, path string, fits func(*capture.Row) bool, most int) ([]*capture.Row, wire.Outcome) {
	if path != "" {
		c, err := recorded.OpenIndexed(f, path)
		if err != nil {
			return nil, recorded.Unreadable(path, err)
		}
		defer c.Close()
		recorded.Warn(f, c)
		return lastFitting(c.Rows(), fits, most), wire.Outcome{}
	}
	list, carried := newest{most: most, fits: fits}, map[int]bool{}
	out := recorded.NewestFirst(f, func(c *capture.Capture, written time.Time) (more bool) {
		c.Agree(carried)
		return list.add(c.Rows(), written) && ctx.Err() == nil
	})
	return list.sorted(), out
}

// A newest keeps at most so many of the rows that fit, the newest, by time; all where
// most is 0.
type newest struct {
	most int
	fits func(*capture.Row) bool
	rows []*capture.Row
}

// add takes the rows of a capture that was written last at this time, or before.
// Captures come the newest first: it gives false where no row of this one or of those
// that follow can be among the newest.
func (n *newest) add(rows []*capture.Row, written time.Time) (more bool) {
	if n.most > 0 && len(n.rows) == n.most && written.Before(n.rows[0].Time) {
		return false
	}
	n.rows = append(n.rows, lastFitting(rows, n.fits, n.most)...)
	if n.most > 0 {
		n.rows = n.sorted()[max(0, len(n.rows)-n.most):]
	}
	return true
}

func (n *newest) sorted() []*capture.Row {
	byTime(n.rows)
	return n.rows
}

// lastFitting are at most so many of the rows that fit, the newest, by time; all
// where most is 0. What another part of the recording has is left to that.
func lastFitting(rows []*capture.Row, fits func(*capture.Row) bool, most int) []*capture.Row {
	var some []*capture.Row
	for end := len(rows); end > 0 && (most == 0 || len(some) < most); {
		part := rows[max(0, end-atATime):end]
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
func fitting(rows []*capture.Row, fits func(*capture.Row) bool) []bool {
	verdicts := make([]bool, len(rows))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(rows)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rows)); i = next.Add(1) - 1 {
				verdicts[i] = !rows[i].Elsewhere && fits(rows[i])
			}
		})
	}
	all.Wait()
	return verdicts
}

// byTime sorts rows by the time of their requests, those of one time by their number.
func byTime(rows []*capture.Row) {
	slices.SortStableFunc(rows, func(x, y *capture.Row) int {
		return cmp.Or(x.Time.Compare(y.Time), x.Run-y.Run, x.Index-y.Index)
	})
}
