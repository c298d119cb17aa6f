package transport

import (
	"fmt"
	"hash/maphash"

	"mcpc/internal/recent"
	"mcpc/internal/sse"
)

// A RecentIDs remembers the latest of many ids, each with a mark: only what was late can come twice.
type RecentIDs = recent.Map[string, bool]

// NewRecentIDs remembers nothing yet.
func NewRecentIDs() *RecentIDs { return &RecentIDs{Least: 10_000} }

// begin readies the cursor for the events of one more connection.
func (p *streamPosition) begin() {
	switch p.dropped = nil; {
	case p.seen == nil:
	case p.id == "": // nothing is resumed, so that nothing can come again
		p.seen = NewRecentIDs()
	default:
		earlier := NewRecentIDs()
		for event := range p.seen.All() {
			earlier.Put(event, true)
		}
		p.seen = earlier
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
