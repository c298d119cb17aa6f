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
// are numbers, which are mostly counted up. The zero value remembers nothing yet.
type AskedIDs struct {
	others        *RecentIDs
	last          int64 // the highest number
	known, marked [mostNumbers / 64]uint64
}

// mostNumbers is how far below the last one a number is remembered.
const mostNumbers = 160 * 64

// Lookup gives the mark of an id, and whether the id is known.
func (a *AskedIDs) Lookup(id []byte) (mark, known bool) {
	n, ok := numberOf(id)
	switch {
	case !ok && a.others == nil:
		return false, false
	case !ok:
		return a.others.Lookup(string(id))
	case n > a.last || n <= a.last-mostNumbers:
		return false, false
	}
	at, bit := n%mostNumbers/64, uint64(1)<<(n%64)
	return a.marked[at]&bit != 0, a.known[at]&bit != 0
}

// Put remembers an id, or changes its mark.
func (a *AskedIDs) Put(id []byte, mark bool) {
	n, ok := numberOf(id)
	if !ok {
		if a.others == nil {
			a.others = NewRecentIDs()
		}
		a.others.Put(string(id), mark)
		return
	}
	if n-a.last >= mostNumbers {
		*a = AskedIDs{others: a.others, last: n}
	}
	for a.last < n { // the bits were those of others
		a.last++
		a.set(a.last, false, false)
	}
	if n > a.last-mostNumbers {
		a.set(n, true, mark)
	}
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
