package client

import (
	"fmt"
	"hash/maphash"

	"mcpc/internal/sse"
)

// maxRecent bounds what is remembered of one stream or conversation: only what
// was late can come twice.
const maxRecent = 10_000

// recent remembers the latest of many ids, each with a mark, in the order in which
// they came.
type recent struct {
	marks map[string]bool
	order []string
}

// newRecent remembers nothing yet.
func newRecent() *recent { return &recent{marks: map[string]bool{}} }

// mark gives the mark of an id, and whether the id is known.
func (r *recent) mark(id string) (mark, known bool) {
	mark, known = r.marks[id]
	return mark, known
}

// put remembers an id, or changes its mark.
func (r *recent) put(id string, mark bool) {
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
func (c *cursor) begin() {
	switch c.dropped = nil; {
	case c.seen == nil:
	case c.id == "": // nothing is resumed, so that nothing can come again
		c.seen = newRecent()
	default:
		for event := range c.seen.marks {
			c.seen.marks[event] = true
		}
	}
}

// repeated moves the cursor along and reports an event that a resumed stream
// brought a second time. The id alone does not tell: some servers give all events
// the same one, and others count them anew on each connection. A copy of what an
// earlier connection brought has its data as well, and is no answer that is still
// waited for.
func (c *cursor) repeated(ev sse.Event) bool {
	if ev.Retry != nil {
		c.retry = ev.Retry
	}
	if ev.ID == nil || c.seen == nil {
		return false
	}
	id := *ev.ID
	event := fmt.Sprintf("%x %s", maphash.Bytes(eventSeed, ev.Data), id)
	earlier, known := c.seen.mark(event)
	if earlier {
		return true
	}
	if id != "" && !known {
		c.seen.put(event, false)
	}
	c.moved, c.id = true, id
	return false
}

var eventSeed = maphash.MakeSeed()
