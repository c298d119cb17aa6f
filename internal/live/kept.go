package live

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"time"

	"mcpc/internal/capture/rows"
)

// An entry is a kept row. Lists hold entries, not rows: when a recording is read again, its entries
// get the new rows of their keys. Only the field row changes, under the lock of the Store.
type entry struct {
	key  Key
	time time.Time
	talk Talk
	row  *rows.Row
}

// kept holds the rows that a Store keeps.
type kept struct {
	// limit is the largest number of rows kept, the newest ones; 0 means no limit.
	limit int
	// entries are in the order of their times; byKey has the same entries.
	entries []*entry
	byKey   map[Key]*entry
	// leftOut are the keys of rows that are not kept because of limit.
	leftOut keySet
}

// has reports whether an entry is still kept.
func (k *kept) has(e *entry) bool { return k.byKey[e.key] == e }

// hasRow reports whether a kept entry has the row.
func (k *kept) hasRow(r *rows.Row) bool {
	e := k.byKey[KeyOf(r)]
	return e != nil && e.row == r
}

// update stores rows that are new, have changed or were read again, and returns their entries. It
// also returns the entries that it removed. An entry is removed if another part of the recording has
// its row, if its row has a different time or conversation now and so gets a new entry, or if limit is
// exceeded.
func (k *kept) update(rows []*rows.Row) (changed, removed []*entry) {
	added := make([]*entry, 0, len(rows))
	for _, r := range rows {
		key := KeyOf(r)
		e := k.byKey[key]
		if r.ListedElsewhere {
			k.leftOut.remove(key)
			if e != nil {
				delete(k.byKey, key)
				removed = append(removed, e)
			}
			continue
		}
		// It was too old, and still is: rows keep their times.
		if e == nil && k.leftOut.has(key) {
			continue
		}
		talk := TalkOf(r)
		// Lists find an entry by its time and conversation, so these never change.
		if e != nil && (e.talk != talk || !e.time.Equal(r.Time)) {
			removed = append(removed, e)
			e = nil
		}
		if e == nil {
			e = &entry{key: key, time: r.Time, talk: talk}
			k.byKey[key] = e
			added = append(added, e)
		}
		e.row = r
		changed = append(changed, e)
	}
	if len(removed) > 0 {
		k.entries = slices.DeleteFunc(k.entries, func(e *entry) bool { return !k.has(e) })
	}
	slices.SortFunc(added, byTime)
	k.entries = merge(k.entries, added, byTime)
	return changed, append(removed, k.trim()...)
}

// trim removes the oldest entries that exceed limit, and returns them. Recordings that have ended
// then drop what no kept row needs.
func (k *kept) trim() []*entry {
	if k.limit == 0 || len(k.entries) <= k.limit {
		return nil
	}
	old := slices.Clone(k.entries[:len(k.entries)-k.limit])
	k.entries = withoutFirst(k.entries, len(old))
	for _, e := range old {
		delete(k.byKey, e.key)
		k.leftOut.add(e.key)
	}
	var last *rows.Capture // the entries of a recording usually follow each other
	for _, e := range old {
		if c := e.row.Capture(); c != last && c.HasEnded() {
			c.Freeze(k.hasRow)
			last = c
		}
	}
	return old
}

// withoutFirst returns entries without the first n, and clears their slots so that they can be
// freed.
func withoutFirst(entries []*entry, n int) []*entry {
	clear(entries[:n])
	return entries[n:]
}

// forgetRecording removes the rows of a deleted or replaced recording, and returns their entries. The
// function inRecording reports whether the recording has a key.
func (k *kept) forgetRecording(inRecording func(Key) bool) []*entry {
	var removed []*entry
	maps.DeleteFunc(k.leftOut, func(run int, _ []uint64) bool { return inRecording(Key{Run: run}) })
	k.entries = slices.DeleteFunc(k.entries, func(e *entry) bool {
		if !inRecording(e.key) {
			return false
		}
		delete(k.byKey, e.key)
		removed = append(removed, e)
		return true
	})
	return removed
}

// A keySet is a set of keys: a bitmap of row indexes for each run.
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

func (s keySet) count() int {
	n := 0
	for _, set := range s {
		for _, word := range set {
			n += bits.OnesCount64(word)
		}
	}
	return n
}

// byTime orders entries like the table of mcpc log: by time, then by key.
func byTime(x, y *entry) int {
	return cmp.Or(x.time.Compare(y.time), x.key.Run-y.key.Run, x.key.Index-y.key.Index)
}

// merge inserts added into entries, and returns the result, which may use the memory of entries.
// Both lists are in order. Elements of entries come before equal elements of added.
func merge(entries, added []*entry, order func(x, y *entry) int) []*entry {
	// Fill the list from its end, so that only the elements after the first added one move.
	i := len(entries) - 1
	j := len(added) - 1
	entries = append(entries, added...)
	for to := len(entries) - 1; j >= 0; to-- {
		if i >= 0 && order(entries[i], added[j]) > 0 {
			entries[to] = entries[i]
			i--
		} else {
			entries[to] = added[j]
			j--
		}
	}
	return entries
}

// Look calls visit with the row of each key, or with nil if the row is no longer kept. visit must
// not keep the row. The Store is locked for reading during the calls.
func (s *Store) Look(keys []Key, visit func(i int, r *rows.Row)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var files idleCloser
	for i, key := range keys {
		var r *rows.Row
		if e := s.kept.byKey[key]; e != nil {
			r = e.row
		}
		visit(i, r)
		files.read(r)
	}
	files.read(nil)
}

// An idleCloser closes the files that reads of rows opened. It keeps one file open at a time: rows of
// one recording usually follow each other.
type idleCloser struct{ last *rows.Capture }

// read notes that a row was read, and closes the file of the row before if it is a different one. A
// nil row closes the last file.
func (x *idleCloser) read(r *rows.Row) {
	var c *rows.Capture
	if r != nil {
		c = r.Capture()
	}
	if x.last != nil && x.last != c {
		x.last.CloseIdle()
	}
	x.last = c
}
