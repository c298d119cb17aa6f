package live

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// TalkOf is the conversation of a row; it goes on in all parts of a recording. A proxy cannot tell which client sent a request that stands
// alone, and numbers each as a conversation: those of clients that call themselves the same are one
// here, with a number below 0. A probe that an older server refused belongs to the session that it led to.
func TalkOf(r *rows.Row) Talk {
	t := Talk{cmp.Or(r.Head().First, r.Run), r.Conn}
	if r.Run == 0 {
		t.Run = -1 - r.RunIndex()
	}
	if r.Conn == 0 || r.Era != "modern" || r.Channel == exchange.ChannelProbe || r.By != capture.ByProxy && r.By != capture.ByImport {
		return t
	}
	if client := r.Client(); client != "" {
		h := fnv.New32a()
		h.Write([]byte(client + "\x00" + r.Target))
		t.Conn = -1 - int(h.Sum32()>>1)
	}
	return t
}

// talks are the conversations of a Store.
type talks struct {
	// mu guards what is counted, all else is guarded by that of the Store.
	mu  sync.Mutex
	all map[Talk]*talk
	// leftOut are the conversations without a kept row, with the run of their last row.
	leftOut map[Talk]int
}

// mostTalksLeftOut bounds leftOut.
const mostTalksLeftOut = 100_000

// An Absence says why a conversation has no rows.
type Absence int

const (
	// Kept is not absent.
	Kept Absence = iota
	// LeftOut is older than the rows that are kept.
	LeftOut
	// Unread may be in an older recording that was not read.
	Unread
	// Unknown is in no recording, or not any more.
	Unknown
)

// Absent reports why a conversation has no rows.
func (s *Store) Absent(t Talk) Absence {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.talks.all[t] != nil {
		return Kept
	}
	if _, is := s.talks.leftOut[t]; is {
		return LeftOut
	}
	if s.loading || s.notes.unread > 0 {
		return Unread
	}
	return Unknown
}

// A talk is a conversation and its rows.
type talk struct {
	// entries are in the order of their times.
	entries []*entry
	doc     Conversation
	// counted is set while doc is that of the entries, other if it has a request that is no
	// handshake.
	counted, other bool
}

// change takes the entries that are new or have changed, and those that are not kept any more.
func (t *talks) change(k *kept, changed, out []*entry) {
	less := map[*talk]int{}
	for _, e := range out {
		if x := t.all[e.talk]; x != nil {
			less[x]++
		}
	}
	for x, removed := range less {
		x.counted = false
		first := slices.IndexFunc(x.entries, k.has)
		if first < 0 {
			first = len(x.entries)
		}
		x.entries = withoutFirst(x.entries, first)
		if first < removed { // mostly only the oldest ones are removed
			x.entries = slices.DeleteFunc(x.entries, func(e *entry) bool { return !k.has(e) })
		}
	}
	more := map[*talk][]*entry{}
	for _, e := range changed {
		if !k.has(e) {
			continue
		}
		x := t.all[e.talk]
		if x == nil {
			x = &talk{doc: Conversation{Talk: e.talk}}
			t.all[e.talk] = x
			delete(t.leftOut, e.talk)
		}
		x.counted = false
		if _, there := slices.BinarySearchFunc(x.entries, e, byTime); !there {
			more[x] = append(more[x], e)
		}
	}
	for x, in := range more {
		slices.SortFunc(in, byTime)
		x.entries = merge(x.entries, slices.Compact(in), byTime)
	}
	for x := range less {
		if len(x.entries) == 0 {
			delete(t.all, x.doc.Talk)
		}
	}
	for _, e := range out {
		if t.all[e.talk] == nil && k.leftOut.has(e.key) && len(t.leftOut) < mostTalksLeftOut {
			t.leftOut[e.talk] = e.key.Run
		}
	}
}

// deleted forgets conversations that were left out, if their recording was deleted.
func (t *talks) deleted(run int) {
	maps.DeleteFunc(t.leftOut, func(_ Talk, of int) bool { return of == run })
}

// count brings the document up to date.
func (x *talk) count() {
	first, last := x.entries[0].row, x.entries[len(x.entries)-1].row
	x.doc.Over = last.RunOver() // which changes without a change of a row
	if x.counted {
		return
	}
	d := Conversation{Talk: x.doc.Talk, Client: last.Client(), Server: last.Server(), Target: last.Target, By: last.By,
		Began: first.Time, Rows: len(x.entries), Over: x.doc.Over}
	x.counted, x.other = true, false
	for _, e := range x.entries {
		r := e.row
		if r.Open() {
			d.Open++
		}
		if r.Failed() {
			d.Failed++
		}
		if at := r.LastFrame(); at.After(d.Last) {
			d.Last = at
		}
		d.Revision, d.Client, d.Server = cmp.Or(r.Revision, d.Revision), cmp.Or(r.Client(), d.Client), cmp.Or(r.Server(), d.Server)
		x.other = x.other || r.Dir == wire.Sent && !r.Apart && !r.Opens()
	}
	x.doc = d
}

// Conversations are all that there are, the oldest first.
func (s *Store) Conversations() []Conversation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.talks.mu.Lock()
	defer s.talks.mu.Unlock()
	all := make([]Conversation, 0, len(s.talks.all))
	watched := map[Talk]bool{}
	for id, t := range s.talks.all {
		t.count()
		all = append(all, t.doc)
		watched[id] = t.other && t.doc.By != capture.ByCommand
	}
	sliceutil.Sort(all, func(x, y Conversation) int {
		return cmp.Or(x.Began.Compare(y.Began), x.Talk.Run-y.Talk.Run, x.Talk.Conn-y.Talk.Conn)
	})
	first := len(all) - 1
	for i, c := range slices.Backward(all) {
		if watched[c.Talk] {
			first = i
			break
		}
	}
	if first >= 0 {
		all[first].First = true
	}
	return all
}
