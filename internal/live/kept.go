package live

import (
	"cmp"
	"slices"

	"mcpc/internal/capture"
)

// kept are the rows of a Store.
type kept struct {
	// rows are in the order of their times; by has them by key.
	rows    []*capture.Row
	by      map[Key]*capture.Row
	dropped int
	lost    int
}

func newKept() kept { return kept{by: map[Key]*capture.Row{}} }

func (k *kept) has(r *capture.Row) bool { return k.by[KeyOf(r)] == r }

// change takes up rows that are new or have changed, and gives those that are not kept any
// more: another part of the recording has them, or there are more than most, where most is
// not 0.
func (k *kept) change(rows []*capture.Row, most int) (out []*capture.Row) {
	if len(k.by) == 0 {
		k.by = make(map[Key]*capture.Row, len(rows))
	}
	in := make([]*capture.Row, 0, len(rows))
	for _, r := range rows {
		key := KeyOf(r)
		switch there := k.by[key]; {
		case there == r && r.Elsewhere:
			delete(k.by, key)
			out = append(out, r)
		case there != nil && there != r && there.Capture() == r.Capture() && !r.Elsewhere: // it was read anew
			out = append(out, there)
			fallthrough
		case there == nil && !r.Elsewhere:
			k.by[key] = r
			in = append(in, r)
		}
	}
	if len(out) > 0 {
		k.rows = slices.DeleteFunc(k.rows, func(r *capture.Row) bool { return !k.has(r) })
	}
	slices.SortFunc(in, byTime)
	k.rows = merge(k.rows, in, byTime)
	if most == 0 || len(k.rows) <= most+most/100 { // not one by one
		return out
	}
	old := k.rows[:len(k.rows)-most]
	for _, r := range old {
		delete(k.by, KeyOf(r))
	}
	k.dropped += len(old)
	out = append(out, old...)
	k.rows = slices.Clone(k.rows[len(old):])
	var last *capture.Capture
	for _, r := range old {
		if c := r.Capture(); c != last && c.Ended() {
			c.Settle(k.has)
			last = c
		}
	}
	return out
}

// gone removes the rows of a file, and gives them.
func (k *kept) gone(path string) (out []*capture.Row) {
	k.rows = slices.DeleteFunc(k.rows, func(r *capture.Row) bool {
		if r.Path() != path {
			return false
		}
		delete(k.by, KeyOf(r))
		out = append(out, r)
		return true
	})
	k.dropped += len(out)
	return out
}

// byTime orders rows as the table of the log does.
func byTime(x, y *capture.Row) int {
	return cmp.Or(x.Time.Compare(y.Time), x.Run-y.Run, x.Index-y.Index)
}

// merge puts rows into others; both are in order.
func merge(rows, in []*capture.Row, order func(x, y *capture.Row) int) []*capture.Row {
	i, j := len(rows)-1, len(in)-1
	rows = append(rows, in...)
	for at := len(rows) - 1; j >= 0; at-- {
		if i >= 0 && order(rows[i], in[j]) > 0 {
			rows[at] = rows[i]
			i--
		} else {
			rows[at] = in[j]
			j--
		}
	}
	return rows
}

// Look calls look with the rows of keys, nil for one that is not kept any more. The rows must
// not be used afterwards.
func (s *Store) Look(keys []Key, look func(i int, r *capture.Row)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var read resting
	for i, key := range keys {
		r := s.kept.by[key]
		look(i, r)
		read.on(r)
	}
	read.on(nil)
}

// resting closes the files that were opened for rows: those of one are mostly together.
type resting struct{ last *capture.Capture }

// on is called with the row that was looked at; nil is the end.
func (x *resting) on(r *capture.Row) {
	var c *capture.Capture
	if r != nil {
		c = r.Capture()
	}
	if x.last != nil && x.last != c {
		x.last.Rest()
	}
	x.last = c
}
