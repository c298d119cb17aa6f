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
	headIndex  int
	correlator wire.Correlator
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
	pending   pendingFrames
	probes    probes
	// gone is set once a server on stdio ended before its client did.
	serverExited bool
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
func (c *Capture) beginRun(h capture.Head, at span) {
	if c.newest != nil && c.newest.head.In == "" { // what comes now is of another
		c.closedRuns[c.newest.headIndex] = true
	}
	if len(c.marked) > maxRemembered {
		maps.DeleteFunc(c.marked, func(_ string, x *rowMaker) bool { return c.closedRuns[x.headIndex] })
	}
	c.newest = &rowMaker{capture: c, head: h, headIndex: len(c.Heads), repeating: h.After > 0,
		waiting: map[int32]struct{}{}, conns: map[int]*conn{}, pending: pendingFrames{frames: map[int64]pendingFrame{}},
		httpOnly: map[int]*httpOnly{}, probes: probes{newer: map[string]bool{}}}
	c.Heads = append(c.Heads, h)
	c.headSpans = append(c.headSpans, at)
	c.closedRuns = append(c.closedRuns, false)
	c.noteRepeated()
	if h.In != "" {
		c.marked[h.In] = c.newest
	}
}

// mostMarked is how many runs are remembered for what may come behind their end.
const maxRemembered = 1000

// makerOf returns the rowMaker of the run whose lines have a mark, without a mark that of the newest run. It returns
// nil if there is no such run.
func (c *Capture) makerOf(mark []byte) *rowMaker {
	if len(mark) == 0 || c.newest != nil && c.newest.head.In == string(mark) {
		return c.newest
	}
	return c.marked[string(mark)]
}

// mostHeads bounds the heads that nothing follows.
const maxPendingFrames = 20_000

func (x *rowMaker) markChanged(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

func (x *rowMaker) newRow(at time.Time) *Row { return x.addRow(x.rowAt(at)) }

// rowAt makes a row that is not listed yet.
func (x *rowMaker) rowAt(at time.Time) Row {
	return Row{
		Run:       x.head.Run,
		State:     exchange.State{Time: at, Channel: exchange.ChannelOpen, Exit: -1},
		Target:    x.head.Target,
		By:        x.head.By,
		Elsewhere: x.repeating,
		capture:   x.capture,
		head:      x.headIndex,
	}
}

// list adds a row, and returns where it is from then on.
func (x *rowMaker) addRow(row Row) *Row {
	r := x.capture.add(row)
	r.Index = r.nth + 1
	if r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows = append(x.rows, int32(r.nth))
	return r
}

// frame gives a frame to the rows it belongs to. m is its message, if it has one.
func (x *rowMaker) addFrame(f *wire.Frame, m *wire.Message, at span) {
	size := f.Bytes()
	facts := &exchange.NoFacts
	if m != nil {
		ownRow := exchange.FactsOf(m)
		facts = &ownRow
	}
	c := x.conns[f.Conn]
	if c == nil {
		c = x.capture.newConn()
		x.conns[f.Conn] = c
	}
	if f.Kind == wire.Head && f.Dir == wire.Sent {
		c.AddHead(f.HTTP)
	}
	places := x.correlator.Add(at.at, f, &facts.Traits)
	if len(places) == 0 && f.Stream > 0 && (f.Kind != wire.Event || !f.SSE.Comment) {
		x.pending.add(f, at, size)
	}
	var ownRow *Row // of the frame
	for _, place := range places {
		if place.Role == wire.Asks || place.Role == wire.Begins {
			x.exchanges = append(x.exchanges, int32(x.newExchangeRow(f, place).nth))
		}
		row := x.capture.at(int(x.exchanges[place.Exchange]))
		part := &placed{line: at, conn: c, Part: exchange.Part{Place: place, Frame: f, Message: m, Facts: facts, Size: size,
			Conversation: &c.Conversation, EndIsReported: x.head.By != capture.ByCommand}}
		if place.Ref != at.at {
			earlier := x.pending.frames[place.Ref]
			if earlier.frame == nil {
				continue
			}
			part.line = earlier.line
			part.Frame = earlier.frame
			part.Message = nil
			part.Facts = &exchange.NoFacts
			part.Size = earlier.size
		}
		if place.Item >= 0 {
			item := exchange.FactsOf(m.Items[place.Item])
			part.Message = m.Items[place.Item]
			part.Facts = &item
			part.BatchSize = len(m.Items)
		}
		if place.Same > 0 {
			row.SameAs = x.capture.at(int(x.exchanges[place.Same-1])).numberOnly()
		}
		if place.Role == wire.Concerns {
			ownRow.relateTo(row, place)
		} else {
			ownRow = row
		}
		row.apply(part)
		x.detectProbe(row, part)
		x.markChanged(row)
		x.trackRow(row, place.Role)
	}
	x.pending.remove(places, at)
	if f.Kind == wire.Event && f.SSE != nil && f.SSE.Event == "endpoint" {
		c.Session = exchange.HashIn(string(f.Raw))
		x.resolveSSEProbes(c)
		x.noteStreamLines(c, f.Stream)
	}
	if f.Kind == wire.Closed && f.Stream > 0 && f.Stream == c.stream {
		c.opened = nil
	}
	x.serverExited = x.serverExited || f.Kind == wire.Closed && f.Dir == wire.Received && f.Stream == 0
	x.addToHTTPOnly(f, m, at, places)
	if f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.beginHTTPOnly(f, at)
	}
}

// begun makes the row of an exchange, or of a stream or pipe, from its first frame.
func (x *rowMaker) newExchangeRow(f *wire.Frame, place wire.Place) *Row {
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
	if first := x.pending.frames[place.Ref].frame; first != nil {
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
func (x *rowMaker) addEnd(e *capture.End, at span) {
	if e.ID != nil {
		x.endExchange(e, at)
		return
	}
	x.capture.endSpans[x.headIndex], x.capture.closedRuns[x.headIndex] = at, true
	defer x.finishOldRuns()
	for r := range x.openRows() {
		if r.Apart {
			r.EndApart()
			x.markChanged(r)
		}
	}
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			for r := range x.openRows() {
				if r.Dir == wire.Sent {
					r.Fail(e.Kind, "")
					x.markChanged(r)
				}
			}
		}
		return
	}
	if x.head.By == capture.ByTap && (x.serverExited || e.Exit != 0) {
		for r := range x.openRows() { // a dead server answers no more requests
			if r.Dir == wire.Sent {
				r.Fail(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
				x.markChanged(r)
			}
		}
	}
	if x.head.By != capture.ByCommand {
		return // it speaks of no exchange
	}
	row := x.rowOfEnd(e)
	if row == nil && (e.Method != "" || e.Kind != wire.OK) {
		row = x.newRow(e.Time)
		row.Method = e.Method
		row.Name = e.Name
	}
	if row == nil {
		return
	}
	row.Own = true
	row.Again = x.head.Of
	if row.Channel == exchange.ChannelOK && (e.Kind == wire.Usage || e.Kind == wire.InvalidArguments) {
		row.Text = e.Text
		row.Hint = e.Hint // the error is the command's own, and the exchange was good
	} else {
		row.setOutcome(e)
		row.Name = cmp.Or(row.Name, e.Name)
	}
	x.markChanged(row)
}

// givenUp gives an exchange the ending that its caller reported.
func (x *rowMaker) endExchange(e *capture.End, at span) {
	number, ok := x.correlator.Sent(e.ID)
	if !ok {
		return
	}
	row := x.capture.at(int(x.exchanges[number]))
	row.setOutcome(e)
	row.lines.add(newRowLine(at, wire.Place{Item: -1})) // so that it is copied with the frames
	x.markChanged(row)
}

// endAs is an ending that is told, which no later answer changes.
func (r *Row) setOutcome(e *capture.End) {
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
func (x *rowMaker) rowOfEnd(e *capture.End) *Row {
	fallback := -1
	for _, nth := range slices.Backward(x.rows) {
		r := x.capture.at(int(nth))
		if r.Apart || r.Dir == wire.Received {
			continue
		}
		if e.Method == r.Method || e.Method == "" && !r.Opens() {
			return r
		}
		if fallback < 0 {
			fallback = r.nth
		}
	}
	if fallback < 0 || e.Method != "" && x.capture.at(fallback).Channel == exchange.ChannelOK {
		return nil
	}
	return x.capture.at(fallback)
}

// Opens reports a request that opens a conversation, as clients send it by themselves.
func (r *Row) Opens() bool { return exchange.Opens(r.Method) }

// within notes to which request a message of the row belongs too, or may.
func (r *Row) relateTo(other *Row, place wire.Place) {
	other.capture.retain(other)
	if r.Apart {
		if len(r.Guesses) < maxGuesses && !slices.ContainsFunc(r.Guesses, func(g *Row) bool { return g.nth == other.nth }) {
			r.Guesses = append(r.Guesses, other)
		}
	} else {
		r.Within = other
		r.Guess = place.Guess
	}
}

// mostGuesses is how many requests are named to which messages of a stream may belong.
const maxGuesses = 100

// A heldFrame is a head whose body is still to come, or what came on a stream before its
// first message. It has not its bytes, but their number.
type pendingFrame struct {
	line  span
	frame *wire.Frame
	size  int
}

// heldFrames are the frames that may have a place with one that is still to come.
type pendingFrames struct {
	// by has them by where they stand.
	frames map[int64]pendingFrame
	// free are frames that were held, to be used again.
	spare []*wire.Frame
}

// hold keeps a frame that may have a place with a later one.
func (h *pendingFrames) add(f *wire.Frame, at span, size int) {
	if len(h.frames) > maxPendingFrames {
		clear(h.frames)
	}
	if len(h.spare) == 0 {
		h.spare = append(h.spare, &wire.Frame{})
	}
	last := len(h.spare) - 1
	bare := h.spare[last]
	h.spare = h.spare[:last]
	*bare = *f // whose memory is used again
	bare.Raw = nil
	h.frames[at.at] = pendingFrame{at, bare, size}
}

// letGo forgets frames that had a place with the one at a line: mostly the head of its request.
func (h *pendingFrames) remove(places []wire.Place, at span) {
	for _, place := range places {
		if place.Ref == at.at {
			continue
		}
		if was, there := h.frames[place.Ref]; there {
			delete(h.frames, place.Ref)
			h.spare = append(h.spare, was.frame)
		}
	}
}

// note keeps the number of a row that waits for its answer, or was cancelled and may still get one,
// and of one that opens a conversation.
func (x *rowMaker) trackRow(r *Row, role wire.Role) {
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
func (x *rowMaker) waitingRows() (numbers []int32) {
	if !x.finished {
		return slices.Sorted(maps.Keys(x.waiting))
	}
	for _, p := range x.capture.Pages() {
		p.Select(func(r *Row) bool {
			if r.head == x.headIndex && (r.Open() || r.Cancel != nil) {
				numbers = append(numbers, int32(r.nth))
			}
			return false
		})
	}
	return numbers
}

// open are the rows of the run without an answer.
func (x *rowMaker) openRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.waitingRows() {
			if row := x.capture.at(int(nth)); row.Open() && !yield(row) {
				return
			}
		}
	}
}

// numbers are those of the rows of the run.
func (x *rowMaker) rowNumbers() []int32 {
	if x.finished && x.rows == nil {
		for _, p := range x.capture.Pages() {
			p.Select(func(r *Row) bool {
				if r.head == x.headIndex {
					x.rows = append(x.rows, int32(r.nth))
				}
				return false
			})
		}
	}
	return x.rows
}

// each are the rows of the run.
func (x *rowMaker) allRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.rowNumbers() {
			if !yield(x.capture.at(int(nth))) {
				return
			}
		}
	}
}
