package live

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"mcpc/internal/capture/rows"
)

// An entry is a kept row. Lists hold entries and no rows: if a recording is read again, the entry gets
// the row that has its key then. All fields but row stay as they are, and row changes under the
// lock of the Store alone.
type entry struct {
	key  Key
	time time.Time
	talk Talk
	row  *rows.Row
}

// kept are the rows of a Store.
type kept struct {
	// most is how many are kept, the newest; 0 is all.
	most int
	// entries are in the order of their times; by has them by key.
	entries []*entry
	by      map[Key]*entry
	// leftOut are the rows that are not kept because there are more than most.
	leftOut keySet
}

// has reports whether an entry is still kept.
func (k *kept) has(e *entry) bool { return k.by[e.key] == e }

// holds reports whether the row is that of an entry.
func (k *kept) holds(r *rows.Row) bool {
	e := k.by[KeyOf(r)]
	return e != nil && e.row == r
}

// change takes rows that are new or have changed, or that were read again. It returns their entries,
// and those that are not kept any more: because another part of the recording has the row, because
// it has another time or conversation than before and so another entry, or because there are more than most.
func (k *kept) change(rows []*rows.Row) (changed, out []*entry) {
	in := make([]*entry, 0, len(rows))
	for _, r := range rows {
		key := KeyOf(r)
		e := k.by[key]
		if r.Elsewhere {
			k.leftOut.remove(key)
			if e != nil {
				delete(k.by, key)
				out = append(out, e)
			}
			continue
		}
		if e == nil && k.leftOut.has(key) {
			continue
		}
		talk := TalkOf(r)
		if e != nil && (e.talk != talk || !e.time.Equal(r.Time)) {
			out = append(out, e)
			e = nil
		}
		if e == nil {
			e = &entry{key: key, time: r.Time, talk: talk}
			k.by[key] = e
			in = append(in, e)
		}
		e.row = r
		changed = append(changed, e)
	}
	if len(out) > 0 {
		k.entries = slices.DeleteFunc(k.entries, func(e *entry) bool { return !k.has(e) })
	}
	slices.SortFunc(in, byTime)
	k.entries = merge(k.entries, in, byTime)
	return changed, append(out, k.trim()...)
}

// trim leaves out the oldest entries beyond most, and returns them.
func (k *kept) trim() (old []*entry) {
	if k.most == 0 || len(k.entries) <= k.most {
		return nil
	}
	old = slices.Clone(k.entries[:len(k.entries)-k.most])
	k.entries = withoutFirst(k.entries, len(old))
	for _, e := range old {
		delete(k.by, e.key)
		k.leftOut.add(e.key)
	}
	var last *rows.Capture
	for _, e := range old {
		if c := e.row.Capture(); c != last && c.Ended() {
			c.Settle(k.holds)
			last = c
		}
	}
	return old
}

// withoutFirst returns a list without its first n entries, which it no longer holds in memory.
func withoutFirst(entries []*entry, n int) []*entry {
	clear(entries[:n])
	return entries[n:]
}

// deleted forgets the rows of a recording that was deleted or replaced, and returns their entries.
func (k *kept) deleted(of func(Key) bool) (out []*entry) {
	maps.DeleteFunc(k.leftOut, func(run int, _ []uint64) bool { return of(Key{Run: run}) })
	k.entries = slices.DeleteFunc(k.entries, func(e *entry) bool {
		if !of(e.key) {
			return false
		}
		delete(k.by, e.key)
		out = append(out, e)
		return true
	})
	return out
}

// A keySet is a set of keys: by run, a bit for each index.
type keySet map[int][]uint64

func (s keySet) has(k Key) bool {
	set := s[k.Run]
	return k.Index/64 < len(set) && set[k.Index/64]&(1<<(k.Index%64)) != 0
}

func (s keySet) add(k Key) {
	set := s[k.Run]
	for k.Index/64 >= len(set) {
		set = append(set, 0)
	}
	set[k.Index/64] |= 1 << (k.Index % 64)
	s[k.Run] = set
}

func (s keySet) remove(k Key) {
	if s.has(k) {
		s[k.Run][k.Index/64] &^= 1 << (k.Index % 64)
	}
}

func (s keySet) count() (n int) {
	for _, set := range s {
		for _, word := range set {
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// byTime orders entries as the table of the log does.
func byTime(x, y *entry) int {
	return cmp.Or(x.time.Compare(y.time), x.key.Run-y.key.Run, x.key.Index-y.key.Index)
}

// merge puts entries into others; both are in order.
func merge(entries, in []*entry, order func(x, y *entry) int) []*entry {
	i, j := len(entries)-1, len(in)-1
	entries = append(entries, in...)
	for at := len(entries) - 1; j >= 0; at-- {
		if i >= 0 && order(entries[i], in[j]) > 0 {
			entries[at] = entries[i]
			i--
		} else {
			entries[at] = in[j]
			j--
		}
	}
	return entries
}

// Look calls look with the rows of keys, nil for one that is not kept any more. The rows must
// not be used afterwards.
func (s *Store) Look(keys []Key, look func(i int, r *rows.Row)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var read resting
	for i, key := range keys {
		var r *rows.Row
		if e := s.kept.by[key]; e != nil {
			r = e.row
		}
		look(i, r)
		read.on(r)
	}
	read.on(nil)
}

// resting closes the files that were opened for rows: those of one are mostly together.
type resting struct{ last *rows.Capture }

// on is called with the row that was looked at; nil is the end.
func (x *resting) on(r *rows.Row) {
	var c *rows.Capture
	if r != nil {
		c = r.Capture()
	}
	if x.last != nil && x.last != c {
		x.last.Rest()
	}
	x.last = c
}
