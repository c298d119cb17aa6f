package rows

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A rowMaker makes rows of the lines of a run, one after the other.
type rowMaker struct {
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
	if c.newest != nil && c.newest.head.In == "" { // what comes now is of another
		c.over[c.newest.at] = true
	}
	if len(c.marked) > mostMarked {
		maps.DeleteFunc(c.marked, func(_ string, x *rowMaker) bool { return c.over[x.at] })
	}
	c.newest = &rowMaker{capture: c, head: h, at: len(c.Heads), repeating: h.After > 0,
		waiting: map[int32]struct{}{}, conns: map[int]*conn{}, held: heldFrames{by: map[int64]heldFrame{}},
		httpOnly: map[int]*httpOnly{}, probes: probes{newer: map[string]bool{}}}
	c.Heads = append(c.Heads, h)
	c.heads = append(c.heads, at)
	c.over = append(c.over, false)
	c.noteRepeated()
	if h.In != "" {
		c.marked[h.In] = c.newest
	}
}

// mostMarked is how many runs are remembered for what may come behind their end.
const mostMarked = 1000

// makerOf returns the rowMaker of the run whose lines have a mark, without a mark that of the newest run. It returns
// nil if there is no such run.
func (c *Capture) makerOf(mark []byte) *rowMaker {
	if len(mark) == 0 || c.newest != nil && c.newest.head.In == string(mark) {
		return c.newest
	}
	return c.marked[string(mark)]
}

// mostHeads bounds the heads that nothing follows.
const mostHeads = 20_000

func (x *rowMaker) touch(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

func (x *rowMaker) newRow(at time.Time) *Row { return x.list(x.rowAt(at)) }

// rowAt makes a row that is not listed yet.
func (x *rowMaker) rowAt(at time.Time) Row {
	return Row{
		Run:       x.head.Run,
		State:     exchange.State{Time: at, Channel: exchange.ChannelOpen, Exit: -1},
		Target:    x.head.Target,
		By:        x.head.By,
		Elsewhere: x.repeating,
		capture:   x.capture,
		head:      x.at,
	}
}

// list adds a row, and returns where it is from then on.
func (x *rowMaker) list(row Row) *Row {
	r := x.capture.add(row)
	r.Index = r.nth + 1
	if r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows = append(x.rows, int32(r.nth))
	return r
}

// frame gives a frame to the rows it belongs to. m is its message, if it has one.
func (x *rowMaker) frame(f *wire.Frame, m *wire.Message, at span) {
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
			part.line = was.line
			part.Frame = was.frame
			part.Message = nil
			part.Facts = &exchange.NoFacts
			part.Size = was.size
		}
		if place.Item >= 0 {
			item := exchange.FactsOf(m.Items[place.Item])
			part.Message = m.Items[place.Item]
			part.Facts = &item
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
	x.addToHTTPOnly(f, m, at, places)
	if f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.beginHTTPOnly(f, at)
	}
}

// begun makes the row of an exchange, or of a stream or pipe, from its first frame.
func (x *rowMaker) begun(f *wire.Frame, place wire.Place) *Row {
	row := x.newRow(f.Time)
	row.Dir, row.Conn, row.conn = f.Dir, f.Conn, x.conns[f.Conn]
	if x.head.Between() {
		row.Target = x.conns[f.Conn].Target
	}
	if place.Role == wire.Asks {
		return row
	}
	row.Apart = true
	row.Method = MethodPipe
	if f.Stream > 0 && f.Dir == wire.Received {
		row.Method = MethodStream
	}
	if first := x.held.by[place.Ref].frame; first != nil {
		row.Time = first.Time
	}
	c := x.conns[f.Conn]
	row.Era = c.Era
	row.Revision = c.Revision
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

// end gives the command's ending to the row that it is about: the last exchange of its
// method, or a row of its own where it came to none. One that is about many settles only
// the client's unanswered requests, after a signal or a timeout.
func (x *rowMaker) end(e *capture.End, at span) {
	if e.ID != nil {
		x.givenUp(e, at)
		return
	}
	x.capture.ends[x.at], x.capture.over[x.at] = at, true
	defer x.finishOld()
	for r := range x.open() {
		if r.Apart {
			r.EndApart()
			x.touch(r)
		}
	}
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			for r := range x.open() {
				if r.Dir == wire.Sent {
					r.Fail(e.Kind, "")
					x.touch(r)
				}
			}
		}
		return
	}
	if x.head.By == capture.ByTap && (x.gone || e.Exit != 0) {
		for r := range x.open() { // a dead server answers no more requests
			if r.Dir == wire.Sent {
				r.Fail(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
				x.touch(r)
			}
		}
	}
	if x.head.By != capture.ByCommand {
		return // it speaks of no exchange
	}
	own := x.own(e)
	if own == nil && (e.Method != "" || e.Kind != wire.OK) {
		own = x.newRow(e.Time)
		own.Method = e.Method
		own.Name = e.Name
	}
	if own == nil {
		return
	}
	own.Own = true
	own.Again = x.head.Of
	if own.Channel == exchange.ChannelOK && (e.Kind == wire.Usage || e.Kind == wire.InvalidArguments) {
		own.Text = e.Text
		own.Hint = e.Hint // the error is the command's own, and the exchange was good
	} else {
		own.endAs(e)
		own.Name = cmp.Or(own.Name, e.Name)
	}
	x.touch(own)
}

// givenUp gives an exchange the ending that its caller reported.
func (x *rowMaker) givenUp(e *capture.End, at span) {
	exchange, there := x.folder.Sent(e.ID)
	if !there {
		return
	}
	row := x.capture.at(int(x.exchanges[exchange]))
	row.endAs(e)
	row.lines.add(newRowLine(at, wire.Place{Item: -1})) // so that it is copied with the frames
	x.touch(row)
}

// endAs is an ending that is told, which no later answer changes.
func (r *Row) endAs(e *capture.End) {
	r.Finish(e.Kind)
	r.Reported = true
	r.Exit = e.Exit
	r.Text = e.Text
	r.Hint = e.Hint
	r.Findings = append(r.Findings, e.Findings...)
	if e.Took > 0 { // not also until the server's process was ended
		r.Duration = min(r.Duration, e.Took)
	}
}

// own is the exchange that a command's ending speaks of.
func (x *rowMaker) own(e *capture.End) *Row {
	last := -1
	for _, nth := range slices.Backward(x.rows) {
		r := x.capture.at(int(nth))
		if r.Apart || r.Dir == wire.Received {
			continue
		}
		if e.Method == r.Method || e.Method == "" && !r.Opens() {
			return r
		}
		if last < 0 {
			last = r.nth
		}
	}
	if last < 0 || e.Method != "" && x.capture.at(last).Channel == exchange.ChannelOK {
		return nil
	}
	return x.capture.at(last)
}

// Opens reports a request that opens a conversation, as clients send it by themselves.
func (r *Row) Opens() bool { return exchange.Opens(r.Method) }

// within notes to which request a message of the row belongs too, or may.
func (r *Row) within(other *Row, p wire.Place) {
	other.capture.keep(other)
	if r.Apart {
		if len(r.Guesses) < mostGuesses && !slices.ContainsFunc(r.Guesses, func(g *Row) bool { return g.nth == other.nth }) {
			r.Guesses = append(r.Guesses, other)
		}
	} else {
		r.Within = other
		r.Guess = p.Guess
	}
}

// mostGuesses is how many requests are named to which messages of a stream may belong.
const mostGuesses = 100

// A heldFrame is a head whose body is still to come, or what came on a stream before its
// first message. It has not its bytes, but their number.
type heldFrame struct {
	line  span
	frame *wire.Frame
	size  int
}

// heldFrames are the frames that may have a place with one that is still to come.
type heldFrames struct {
	// by has them by where they stand.
	by map[int64]heldFrame
	// free are frames that were held, to be used again.
	free []*wire.Frame
}

// hold keeps a frame that may have a place with a later one.
func (h *heldFrames) hold(f *wire.Frame, at span, size int) {
	if len(h.by) > mostHeads {
		clear(h.by)
	}
	if len(h.free) == 0 {
		h.free = append(h.free, &wire.Frame{})
	}
	last := len(h.free) - 1
	bare := h.free[last]
	h.free = h.free[:last]
	*bare = *f // whose memory is used again
	bare.Raw = nil
	h.by[at.at] = heldFrame{at, bare, size}
}

// letGo forgets frames that had a place with the one at a line: mostly the head of its request.
func (h *heldFrames) letGo(places []wire.Place, at span) {
	for _, place := range places {
		if place.Ref == at.at {
			continue
		}
		if was, there := h.by[place.Ref]; there {
			delete(h.by, place.Ref)
			h.free = append(h.free, was.frame)
		}
	}
}

// note keeps the number of a row that waits for its answer, or was cancelled and may still get one,
// and of one that opens a conversation.
func (x *rowMaker) note(r *Row, role wire.Role) {
	if role == wire.Asks && r.Opens() {
		x.openings = append(x.openings, int32(r.nth))
	}
	if r.Open() || r.Cancel != nil && !r.Cancel.Late {
		x.waiting[int32(r.nth)] = struct{}{}
	} else {
		delete(x.waiting, int32(r.nth))
	}
}

// waits returns the numbers of the rows that note keeps, in their order.
func (x *rowMaker) waits() (numbers []int32) {
	if !x.finished {
		return slices.Sorted(maps.Keys(x.waiting))
	}
	for _, p := range x.capture.Pages() {
		p.Select(func(r *Row) bool {
			if r.head == x.at && (r.Open() || r.Cancel != nil) {
				numbers = append(numbers, int32(r.nth))
			}
			return false
		})
	}
	return numbers
}

// open are the rows of the run without an answer.
func (x *rowMaker) open() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.waits() {
			if row := x.capture.at(int(nth)); row.Open() && !yield(row) {
				return
			}
		}
	}
}

// numbers are those of the rows of the run.
func (x *rowMaker) numbers() []int32 {
	if x.finished && x.rows == nil {
		for _, p := range x.capture.Pages() {
			p.Select(func(r *Row) bool {
				if r.head == x.at {
					x.rows = append(x.rows, int32(r.nth))
				}
				return false
			})
		}
	}
	return x.rows
}

// each are the rows of the run.
func (x *rowMaker) each() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.numbers() {
			if !yield(x.capture.at(int(nth))) {
				return
			}
		}
	}
}
