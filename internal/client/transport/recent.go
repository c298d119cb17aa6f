package transport

import (
	"fmt"
	"hash/maphash"

	"mcpc/internal/sse"
)

// maxRecent bounds what is remembered of one stream or conversation: only what
// was late can come twice.
const maxRecent = 10_000

// RecentIDs remembers the latest of many ids, each with a mark, in the order in which
// they came.
type RecentIDs struct {
	marks map[string]bool
	order []string
}

// NewRecentIDs remembers nothing yet.
func NewRecentIDs() *RecentIDs { return &RecentIDs{marks: map[string]bool{}} }

// Lookup gives the mark of an id, and whether the id is known.
func (r *RecentIDs) Lookup(id string) (mark, known bool) {
	mark, known = r.marks[id]
	return mark, known
}

// Put remembers an id, or changes its mark.
func (r *RecentIDs) Put(id string, mark bool) {
	if _, known := r.marks[id]; !known {
		r.order = append(r.order, id)
	}
	r.marks[id] = mark
	if len(r.order) > maxRecent {
		delete(r.marks, r.order[0])
		r.order = r.order[1:]
	}
}

// AskedIDs remembers the latest ids of requests, each with a mark. A bit is enough for those that
// are numbers and counted up; one far from them is the user's own. The zero value remembers nothing
// yet.
type AskedIDs struct {
	others        *RecentIDs
	counts        bool
	last          int64 // the highest number that has a bit, once counts is set
	known, marked [mostNumbers / 64]uint64
}

// mostNumbers is how far from the last one a number has a bit.
const mostNumbers = 160 * 64

// Lookup gives the mark of an id, and whether the id is known.
func (a *AskedIDs) Lookup(id []byte) (mark, known bool) {
	if n, ok := numberOf(id); ok && n <= a.last && n > a.last-mostNumbers {
		at, bit := n%mostNumbers/64, uint64(1)<<(n%64)
		if a.known[at]&bit != 0 {
			return a.marked[at]&bit != 0, true
		}
	}
	if a.others == nil {
		return false, false
	}
	return a.others.Lookup(string(id))
}

// Put remembers an id, or changes its mark.
func (a *AskedIDs) Put(id []byte, mark bool) {
	n, ok := numberOf(id)
	if ok && !a.counts {
		a.counts, a.last = true, n
	}
	if !ok || n <= a.last-mostNumbers || n >= a.last+mostNumbers {
		if a.others == nil {
			a.others = NewRecentIDs()
		}
		a.others.Put(string(id), mark)
		return
	}
	for a.last < n { // the bits were those of others
		a.last++
		a.set(a.last, false, false)
	}
	a.set(n, true, mark)
}

func (a *AskedIDs) set(n int64, known, mark bool) {
	at, bit := n%mostNumbers/64, uint64(1)<<(n%64)
	a.known[at] &^= bit
	a.marked[at] &^= bit
	if known {
		a.known[at] |= bit
	}
	if mark {
		a.marked[at] |= bit
	}
}

// numberOf reads a number as ids are counted.
func numberOf(id []byte) (n int64, ok bool) {
	if len(id) == 0 || len(id) > 18 || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return n, true
}

// begin readies the cursor for the events of one more connection.
func (p *streamPosition) begin() {
	switch p.dropped = nil; {
	case p.seen == nil:
	case p.id == "": // nothing is resumed, so that nothing can come again
		p.seen = NewRecentIDs()
	default:
		for event := range p.seen.marks {
			p.seen.marks[event] = true
		}
	}
}

// repeated moves the cursor along and reports an event that a resumed stream
// brought a second time. The id alone does not tell: some servers give all events
// the same one, and others count them anew on each connection. A copy of what an
// earlier connection brought has its data as well, and is no answer that is still
// waited for.
func (p *streamPosition) repeated(ev sse.Event) bool {
	if ev.Retry != nil {
		p.retry = ev.Retry
	}
	if ev.ID == nil || p.seen == nil {
		return false
	}
	id := *ev.ID
	event := fmt.Sprintf("%x %s", maphash.Bytes(eventSeed, ev.Data), id)
	earlier, known := p.seen.Lookup(event)
	if earlier {
		return true
	}
	if id != "" && !known {
		p.seen.Put(event, false)
	}
	p.moved, p.id = true, id
	return false
}

var eventSeed = maphash.MakeSeed()
