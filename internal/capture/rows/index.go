package rows

import (
	"maps"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// An index makes rows of the lines of a run, one after the other.
type index struct {
	capture *Capture
	head    capture.Head
	// at is the index of the head in the capture.
	at     int
	folder wire.Correlator
	// rows are the numbers of the rows of the run, openings those of rows that opened a conversation. waiting are the
	// numbers that note keeps.
	rows, openings []int32
	waiting        map[int32]struct{}
	// conns are what is known of each conversation of this run.
	conns map[int]*conn
	// exchanges are the rows of the folder's exchanges, bares the requests that are none,
	// by their stream.
	exchanges []int32
	httpOnly  map[int]*httpOnly
	held      heldFrames
	probes    probes
	// gone is set once a server on stdio ended before its client did.
	gone bool
	// finished is set on a run that was taken from an index file, which has not what is needed
	// to go on with it.
	finished bool
	// repeating is set while what is read was repeated from the part before.
	repeating bool
}

// A conn is a conversation of a recording.
type conn struct {
	exchange.Conversation
	// number is that of the conversation in its Capture, from 1.
	number int
	// opened are the lines that opened its stream of HTTP+SSE, as long as that is open.
	opened []span
	stream int
}

// begin notes the head of a run.
func (c *Capture) begin(h capture.Head, at span) {
	if c.index != nil && c.index.head.In == "" { // what comes now is of another
		c.over[c.index.at] = true
	}
	if len(c.marked) > mostMarked {
		maps.DeleteFunc(c.marked, func(_ string, x *index) bool { return c.over[x.at] })
	}
	c.index = &index{capture: c, head: h, at: len(c.Heads), repeating: h.After > 0,
		waiting: map[int32]struct{}{}, conns: map[int]*conn{}, held: heldFrames{by: map[int64]heldFrame{}},
		httpOnly: map[int]*httpOnly{}, probes: probes{newer: map[string]bool{}}}
	c.Heads = append(c.Heads, h)
	c.heads = append(c.heads, at)
	c.over = append(c.over, false)
	c.noteRepeated()
	if h.In != "" {
		c.marked[h.In] = c.index
	}
}

// mostMarked is how many runs are remembered for what may come behind their end.
const mostMarked = 1000

// indexOf is that of the run whose lines have a mark: without one the last that began,
// nil where there is none.
func (c *Capture) indexOf(mark []byte) *index {
	if len(mark) == 0 || c.index != nil && c.index.head.In == string(mark) {
		return c.index
	}
	return c.marked[string(mark)]
}

// mostHeads bounds the heads that nothing follows.
const mostHeads = 20_000

func (x *index) touch(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

func (x *index) newRow(at time.Time) *Row { return x.list(x.rowAt(at)) }

// rowAt makes a row that is not listed yet.
func (x *index) rowAt(at time.Time) Row {
	return Row{Run: x.head.Run, State: exchange.State{Time: at, Channel: exchange.ChannelOpen, Exit: -1}, Target: x.head.Target,
		By: x.head.By, Elsewhere: x.repeating, capture: x.capture, head: x.at}
}

// list adds a row, and returns where it is from then on.
func (x *index) list(row Row) *Row {
	r := x.capture.add(row)
	if r.Index = r.nth + 1; r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows = append(x.rows, int32(r.nth))
	return r
}

// frame gives a frame to the rows it belongs to. m is its message, if it has one.
func (x *index) frame(f *wire.Frame, m *wire.Message, at span) {
	size := f.Bytes()
	facts := &exchange.NoFacts
	if m != nil {
		own := exchange.FactsOf(m)
		facts = &own
	}
	c := x.conns[f.Conn]
	if c == nil {
		c = x.capture.newConn()
		x.conns[f.Conn] = c
	}
	if f.Kind == wire.Head && f.Dir == wire.Sent {
		c.AddHead(f.HTTP)
	}
	places := x.folder.Add(at.at, f, &facts.Traits)
	if len(places) == 0 && f.Stream > 0 && (f.Kind != wire.Event || !f.SSE.Comment) {
		x.held.hold(f, at, size)
	}
	var own *Row // of the frame
	for _, place := range places {
		if place.Role == wire.Asks || place.Role == wire.Begins {
			x.exchanges = append(x.exchanges, int32(x.begun(f, place).nth))
		}
		row := x.capture.at(int(x.exchanges[place.Exchange]))
		part := &placed{line: at, conn: c, Part: exchange.Part{Place: place, Frame: f, Message: m, Facts: facts, Size: size,
			Conversation: &c.Conversation, EndIsReported: x.head.By != capture.ByCommand}}
		if place.Ref != at.at {
			was := x.held.by[place.Ref]
			if was.frame == nil {
				continue
			}
			part.line, part.Frame, part.Message, part.Facts, part.Size = was.line, was.frame, nil, &exchange.NoFacts, was.size
		}
		if place.Item >= 0 {
			item := exchange.FactsOf(m.Items[place.Item])
			part.Message, part.Facts = m.Items[place.Item], &item
			part.BatchSize = len(m.Items)
		}
		if place.Same > 0 {
			row.SameAs = x.capture.at(int(x.exchanges[place.Same-1])).named()
		}
		if place.Role == wire.Concerns {
			own.within(row, place)
		} else {
			own = row
		}
		row.apply(part)
		x.probed(row, part)
		x.touch(row)
		x.note(row, place.Role)
	}
	x.held.letGo(places, at)
	if f.Kind == wire.Event && f.SSE != nil && f.SSE.Event == "endpoint" {
		c.Session = exchange.HashIn(string(f.Raw))
		x.endpoint(c)
		x.streams(c, f.Stream)
	}
	if f.Kind == wire.Closed && f.Stream > 0 && f.Stream == c.stream {
		c.opened = nil
	}
	x.gone = x.gone || f.Kind == wire.Closed && f.Dir == wire.Received && f.Stream == 0
	if x.addToHTTPOnly(f, m, at, places); f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.beginHTTPOnly(f, at)
	}
}

// begun makes the row of an exchange, or of a stream or pipe, from its first frame.
func (x *index) begun(f *wire.Frame, place wire.Place) *Row {
	row := x.newRow(f.Time)
	row.Dir, row.Conn, row.conn = f.Dir, f.Conn, x.conns[f.Conn]
	if x.head.Between() {
		row.Target = x.conns[f.Conn].Target
	}
	if place.Role == wire.Asks {
		return row
	}
	row.Apart, row.Method = true, MethodPipe
	if f.Stream > 0 && f.Dir == wire.Received {
		row.Method = MethodStream
	}
	if first := x.held.by[place.Ref].frame; first != nil {
		row.Time = first.Time
	}
	c := x.conns[f.Conn]
	row.Era, row.Revision = c.Era, c.Revision
	return row
}

// A placed is a frame that belongs to a row.
type placed struct {
	exchange.Part
	line span
	conn *conn
}

// apply adds a frame to the row.
func (r *Row) apply(p *placed) {
	if p.Role == wire.Begins {
		return // it has a place of its own
	}
	r.lines.add(newRowLine(p.line, p.Place))
	r.State.Add(&p.Part)
}
