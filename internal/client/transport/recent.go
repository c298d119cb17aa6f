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
