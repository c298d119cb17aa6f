package rows

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A rowMaker makes the rows of a run from its lines, in the order of the lines.
type rowMaker struct {
	capture *Capture
	head    capture.Head
	// headIndex is the index of the head in the Capture.
	headIndex  int
	correlator wire.Correlator
	// rows are the numbers in the Capture of the run's rows.
	rows []int32
	// openings are the numbers of the rows that opened a conversation.
	openings []int32
	// waiting has the numbers of the rows that may still get a response; see trackRow.
	waiting map[int32]struct{}
	// conns are the conversations of the run by their number in it.
	conns map[int]*conn
	// exchangeRows are the numbers of the rows of the correlator's exchanges.
	exchangeRows []int32
	// httpOnly are the open HTTP requests without a JSON-RPC request, by their stream.
	httpOnly map[int]*httpOnly
	pending  pendingFrames
	probes   probes
	// serverExited is set once a server on stdio exited before its client.
	serverExited bool
	// isFrozen is set if the rowMaker cannot add frames any more: it comes from an index, or its state was
	// dropped to save memory.
	isFrozen bool
	// inRepeatedLines is set while the lines are repeated from the part before.
	inRepeatedLines bool
}

// A conn is a conversation of a recording.
type conn struct {
	exchange.Conversation
	// number is the number of the conversation in its Capture, from 1.
	number int
	// sseStream is the conversation's stream of HTTP+SSE; 0 if there is no such stream.
	sseStream int
	// openingLines are the lines that opened the stream; nil once it is closed.
	openingLines []span
}

// beginRun adds a run with a head, whose line is at headSpan. Later lines without a mark, or with
// the mark of the head, belong to it.
func (c *Capture) beginRun(head capture.Head, headSpan span) {
	if c.newestMaker != nil && c.newestMaker.head.Mark == "" { // later lines without a mark belong to this run
		c.closedRuns[c.newestMaker.headIndex] = true
	}
	if len(c.makersByMark) > maxRemembered {
		maps.DeleteFunc(c.makersByMark, func(_ string, x *rowMaker) bool { return c.closedRuns[x.headIndex] })
	}
	c.newestMaker = &rowMaker{
		capture:         c,
		head:            head,
		headIndex:       len(c.Heads),
		inRepeatedLines: head.PreviousRun > 0,
		waiting:         map[int32]struct{}{},
		conns:           map[int]*conn{},
		pending:         pendingFrames{frames: map[int64]pendingFrame{}},
		httpOnly:        map[int]*httpOnly{},
		probes:          probes{newerTargets: map[string]bool{}},
	}
	c.Heads = append(c.Heads, head)
	c.headSpans = append(c.headSpans, headSpan)
	c.closedRuns = append(c.closedRuns, false)
	c.noteRepeated()
	if head.Mark != "" {
		c.makersByMark[head.Mark] = c.newestMaker
	}
}

// maxRemembered bounds the ended runs that are kept for lines after their end, and other memories
// of a reader.
const maxRemembered = 1000

// makerFor returns the rowMaker of the run whose lines have a mark, or of the newest run if mark is
// empty. It returns nil if there is no such run.
func (c *Capture) makerFor(mark []byte) *rowMaker {
	if len(mark) == 0 || c.newestMaker != nil && c.newestMaker.head.Mark == string(mark) {
		return c.newestMaker
	}
	return c.makersByMark[string(mark)]
}

// maxPendingFrames bounds the frames that wait for a later frame of their message.
const maxPendingFrames = 20_000

// markChanged adds the row to the rows that ReadOn returns.
func (x *rowMaker) markChanged(r *Row) {
	if changed := x.capture.changed; changed != nil {
		changed[r] = true
	}
}

// newRow adds a row of the run that begins at a time.
func (x *rowMaker) newRow(begin time.Time) *Row { return x.addRow(x.makeRow(begin)) }

// makeRow returns a row of the run that begins at a time, without adding it.
func (x *rowMaker) makeRow(begin time.Time) Row {
	return Row{
		Run:             x.head.Run,
		State:           exchange.State{Time: begin, Channel: exchange.ChannelOpen, Exit: -1},
		Target:          x.head.Target,
		By:              x.head.By,
		ListedElsewhere: x.inRepeatedLines,
		capture:         x.capture,
		headIndex:       x.headIndex,
	}
}

// addRow adds a row to the capture and returns its place there.
func (x *rowMaker) addRow(row Row) *Row {
	r := x.capture.add(row)
	r.Index = r.fileIndex + 1
	if r.Run > 0 {
		r.Index = len(x.rows) + 1
	}
	x.rows = append(x.rows, int32(r.fileIndex))
	return r
}

// addFrame adds a frame to the rows it belongs to. m is the frame's message; nil if it has no
// message. line is the line of the frame.
func (x *rowMaker) addFrame(f *wire.Frame, m *wire.Message, line span) {
	c := x.connFor(f)
	facts := &exchange.NoFacts
	if m != nil {
		own := exchange.FactsOf(m)
		facts = &own
	}
	size := f.Bytes()
	places := x.correlator.Add(line.offset, f, &facts.Traits)
	// The frame may get its place with a later one, such as a head with its body.
	if len(places) == 0 && f.Stream > 0 && (f.Kind != wire.Event || !f.SSE.IsComment) {
		x.pending.add(f, line, size)
	}
	var ownRow *Row // the row that the frame itself belongs to
	for _, place := range places {
		if place.Role == wire.RoleRequest || place.Role == wire.RoleBeginning {
			x.exchangeRows = append(x.exchangeRows, int32(x.newExchangeRow(f, place).fileIndex))
		}
		part := &placedPart{line: line, conn: c, PlacedFrame: exchange.PlacedFrame{
			Place: place, Frame: f, Message: m, Facts: facts, Size: size,
			Conversation: &c.Conversation, EndIsReported: x.head.By != capture.ByCommand,
		}}
		if !x.resolvePlace(part) {
			continue
		}
		row := x.capture.rowAt(int(x.exchangeRows[place.Exchange]))
		if place.FailedBefore > 0 {
			row.SameAs = x.capture.rowAt(int(x.exchangeRows[place.FailedBefore-1])).numberOnly()
		}
		if place.Role == wire.RoleRelated {
			ownRow.relateTo(row, place)
		} else {
			ownRow = row
		}
		row.addPart(part)
		x.detectProbe(row, part)
		x.markChanged(row)
		x.trackRow(row, place.Role)
	}
	x.pending.remove(places, line)
	x.trackStream(f, c)
	x.serverExited = x.serverExited || f.Kind == wire.Closed && f.Dir == wire.Received && f.Stream == 0
	x.addToHTTPOnly(f, m, line, places)
	if f.Kind == wire.Head && f.Dir == wire.Sent && len(places) == 0 {
		x.beginHTTPOnly(f, line)
	}
}

// connFor returns the conversation of a frame, with what the frame's head says about it.
func (x *rowMaker) connFor(f *wire.Frame) *conn {
	c := x.conns[f.Conn]
	if c == nil {
		c = x.capture.newConn()
		x.conns[f.Conn] = c
	}
	if f.Kind == wire.Head && f.Dir == wire.Sent {
		c.AddHead(f.HTTP)
	}
	return c
}

// resolvePlace replaces the frame and the message of a part by the frame and the message that its
// place names: an earlier frame, or one message of a batch. It reports false if the earlier frame
// is not known any more.
func (x *rowMaker) resolvePlace(part *placedPart) bool {
	if part.Ref != part.line.offset {
		earlier := x.pending.frames[part.Ref]
		if earlier.frame == nil {
			return false
		}
		part.line = earlier.line
		part.Frame = earlier.frame
		part.Size = earlier.size
		if part.Item < 0 {
			part.Message = nil // the message belongs to the later frame
			part.Facts = &exchange.NoFacts
		}
	}
	if part.Item >= 0 {
		batch := part.Message.Items
		facts := exchange.FactsOf(batch[part.Item])
		part.Message = batch[part.Item]
		part.Facts = &facts
		part.BatchSize = len(batch)
	}
	return true
}

// trackStream notes the lines that open a stream of HTTP+SSE, for as long as it is open.
func (x *rowMaker) trackStream(f *wire.Frame, c *conn) {
	if f.Kind == wire.Event && f.SSE != nil && f.SSE.Event == "endpoint" {
		c.Session = exchange.HashOrText(string(f.Raw))
		x.resolveSSEProbes(c)
		x.noteStreamLines(c, f.Stream)
	}
	if f.Kind == wire.Closed && f.Stream > 0 && f.Stream == c.sseStream {
		c.openingLines = nil
	}
}

// newExchangeRow adds a row for the exchange that a frame begins, or for a stream or a pipe without
// a request.
func (x *rowMaker) newExchangeRow(f *wire.Frame, place wire.Place) *Row {
	row := x.newRow(f.Time)
	c := x.conns[f.Conn]
	row.Dir = f.Dir
	row.Conn = f.Conn
	row.conn = c
	if x.head.Between() {
		row.Target = c.Target
	}
	if place.Role == wire.RoleRequest {
		return row
	}
	// RoleBeginning: no request begins it.
	row.IsSeparate = true
	if f.Stream > 0 && f.Dir == wire.Received {
		row.Method = MethodStream
	} else {
		row.Method = MethodPipe
		row.FinishSeparate() // its messages wait for nothing
	}
	// The stream began with an earlier frame, such as its head.
	if first := x.pending.frames[place.Ref].frame; first != nil {
		row.Time = first.Time
	}
	row.Era = c.Era
	row.Revision = c.Revision
	return row
}

// A placedPart is a frame with its place: a part of an exchange, with its line and its conversation.
type placedPart struct {
	exchange.PlacedFrame
	line span
	conn *conn
}

// addPart adds a frame to the row.
func (r *Row) addPart(p *placedPart) {
	if p.Role == wire.RoleBeginning {
		return // the same frame has another place too, with its role in the row
	}
	r.lines.add(newRowLine(p.line, p.Place))
	r.State.Add(&p.PlacedFrame)
}

// addEnd adds an End. An End with an ID ends one exchange. The End of a run ends its streams and
// pipes. The End of a command also sets the outcome of the row that the command was about. An End
// for many exchanges only fails the client's open requests after a signal or a timeout.
func (x *rowMaker) addEnd(e *capture.End, line span) {
	if e.ID != nil {
		x.endExchange(e, line)
		return
	}
	x.capture.endSpans[x.headIndex] = line
	x.capture.closedRuns[x.headIndex] = true
	defer x.freezeOldRuns() // after the rows below were changed
	x.endStreams()
	if e.Many && len(x.rows) > 0 {
		if e.Kind == wire.Signal || e.Kind == wire.Timeout {
			x.failOpenRequests(e.Kind, "")
		}
		return
	}
	if x.head.By == capture.ByTap && (x.serverExited || e.Exit != 0) {
		x.failOpenRequests(wire.Transport, fmt.Sprintf("the server ended (exit code %d)", e.Exit))
	}
	if x.head.By == capture.ByCommand { // the outcome of a tap or a proxy is not the outcome of an exchange
		x.setCommandOutcome(e)
	}
}

// endStreams ends the open rows of streams and pipes.
func (x *rowMaker) endStreams() {
	for r := range x.openRows() {
		if r.IsSeparate {
			r.FinishSeparate()
			x.markChanged(r)
		}
	}
}

// failOpenRequests fails the client's open requests: no response will be received.
func (x *rowMaker) failOpenRequests(kind wire.Kind, text string) {
	for r := range x.openRows() {
		if r.Dir == wire.Sent {
			r.FailIfOpen(kind, text)
			x.markChanged(r)
		}
	}
}

// setCommandOutcome sets the outcome of the row that the command was about. If there is no such row,
// it adds one, unless the End has no outcome to show.
func (x *rowMaker) setCommandOutcome(e *capture.End) {
	row := x.findRowOfEnd(e)
	if row == nil && (e.Method != "" || e.Kind != wire.OK) {
		row = x.newRow(e.Time)
		row.Method = e.Method
		row.Name = e.Name
	}
	if row == nil {
		return
	}
	row.IsMain = true
	row.ReplayOf = x.head.ReplayOf
	isOwnError := e.Kind == wire.Usage || e.Kind == wire.InvalidArguments
	if row.Channel == exchange.ChannelOK && isOwnError { // the exchange succeeded, the command failed
		row.Text = e.Text
		row.Hint = e.Hint
	} else {
		row.setOutcome(e)
		if row.Name == "" {
			row.Name = e.Name
		}
	}
	x.markChanged(row)
}

// endExchange sets the outcome of a request that the client gave up. It ignores an End for an
// unknown request.
func (x *rowMaker) endExchange(e *capture.End, line span) {
	number, ok := x.correlator.FindSent(e.ID)
	if !ok {
		return
	}
	row := x.capture.rowAt(int(x.exchangeRows[number]))
	row.setOutcome(e)
	row.lines.add(newRowLine(line, wire.Place{Item: -1})) // Copy then copies the End with the frames
	x.markChanged(row)
}

// setOutcome sets the outcome that an End reports. A later response does not change it.
func (r *Row) setOutcome(e *capture.End) {
	r.SetOutcome(e.Kind)
	r.Reported = true
	r.Exit = e.Exit
	r.Text = e.Text
	r.Hint = e.Hint
	r.Findings = append(r.Findings, e.Findings...)
	if e.Took > 0 { // excludes the time until the server's process ended
		r.Duration = min(r.Duration, e.Took)
	}
}

// findRowOfEnd returns the row that a command's End is about: the last request with its method, or
// with any method if the End names no method. It falls back to the last request, if that has no
// response or the End has no method. Returns nil if there is no such row.
func (x *rowMaker) findRowOfEnd(e *capture.End) *Row {
	fallback := -1
	for _, nth := range slices.Backward(x.rows) {
		r := x.capture.rowAt(int(nth))
		if r.IsSeparate || r.Dir == wire.Received {
			continue
		}
		// Without a method, a request that the client sent by itself is not meant.
		if e.Method == r.Method || e.Method == "" && !r.OpensConversation() {
			return r
		}
		if fallback < 0 {
			fallback = r.fileIndex
		}
	}
	if fallback < 0 || e.Method != "" && x.capture.rowAt(fallback).Channel == exchange.ChannelOK {
		return nil
	}
	return x.capture.rowAt(fallback)
}

// OpensConversation reports whether the request opens a conversation. Clients send such requests by themselves.
func (r *Row) OpensConversation() bool { return exchange.IsOpeningMethod(r.Method) }

// relateTo notes that a message of the row belongs, or may belong, to the request of the row other
// too. A separate row may have several such requests, its Guesses; any other row has one, its
// Within.
func (r *Row) relateTo(other *Row, place wire.Place) {
	// r keeps a pointer to other.
	other.capture.retain(other)
	if r.IsSeparate {
		isKnown := slices.ContainsFunc(r.Guesses, func(g *Row) bool { return g.fileIndex == other.fileIndex })
		if len(r.Guesses) < maxGuesses && !isKnown {
			r.Guesses = append(r.Guesses, other)
		}
	} else {
		r.Within = other
		r.IsGuess = place.IsGuess
	}
}

// maxGuesses bounds the Guesses of a row.
const maxGuesses = 100

// A pendingFrame is a frame that waits for a later frame of its message, such as a head for its
// body. It has the number of its bytes, not the bytes.
type pendingFrame struct {
	line  span
	frame *wire.Frame
	size  int
}

// pendingFrames are the frames that may get their place with a later frame.
type pendingFrames struct {
	// frames has the frames by the offset of their line.
	frames map[int64]pendingFrame
	// spare is memory to reuse.
	spare []*wire.Frame
}

// add keeps a frame.
func (h *pendingFrames) add(f *wire.Frame, line span, size int) {
	if len(h.frames) > maxPendingFrames {
		clear(h.frames) // rather than grow without end
	}
	if len(h.spare) == 0 {
		h.spare = append(h.spare, &wire.Frame{})
	}
	last := len(h.spare) - 1
	bare := h.spare[last]
	h.spare = h.spare[:last]
	*bare = *f // the caller reuses the memory of f
	bare.Raw = nil
	h.frames[line.offset] = pendingFrame{line, bare, size}
}

// remove forgets the frames that got their place with the frame of the given line, such as the head
// of its request.
func (h *pendingFrames) remove(places []wire.Place, line span) {
	for _, place := range places {
		if place.Ref == line.offset {
			continue
		}
		if pending, there := h.frames[place.Ref]; there {
			delete(h.frames, place.Ref)
			h.spare = append(h.spare, pending.frame)
		}
	}
}

// trackRow notes whether a row waits for a response, or was cancelled and may still get one. It
// also notes a row that opens a conversation.
func (x *rowMaker) trackRow(r *Row, role wire.Role) {
	if role == wire.RoleRequest && r.OpensConversation() {
		x.openings = append(x.openings, int32(r.fileIndex))
	}
	if r.IsOpen() || r.Cancel != nil && !r.Cancel.IsLate {
		x.waiting[int32(r.fileIndex)] = struct{}{}
	} else {
		delete(x.waiting, int32(r.fileIndex))
	}
}

// waitingRows returns the numbers of the rows that may still get a response, in their order. A
// frozen rowMaker has no record of them, so it looks at all rows of the run.
func (x *rowMaker) waitingRows() []int32 {
	if !x.isFrozen {
		return slices.Sorted(maps.Keys(x.waiting))
	}
	var numbers []int32
	for _, p := range x.capture.Pages() {
		p.Select(func(r *Row) bool {
			if r.headIndex == x.headIndex && (r.IsOpen() || r.Cancel != nil) {
				numbers = append(numbers, int32(r.fileIndex))
			}
			return false
		})
	}
	return numbers
}

// openRows returns the rows of the run without an outcome.
func (x *rowMaker) openRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.waitingRows() {
			if row := x.capture.rowAt(int(nth)); row.IsOpen() && !yield(row) {
				return
			}
		}
	}
}

// rowNumbers returns the numbers of the run's rows. If the rows come from an index, it finds them
// at the first call.
func (x *rowMaker) rowNumbers() []int32 {
	if x.isFrozen && x.rows == nil {
		for _, p := range x.capture.Pages() {
			p.Select(func(r *Row) bool {
				if r.headIndex == x.headIndex {
					x.rows = append(x.rows, int32(r.fileIndex))
				}
				return false
			})
		}
	}
	return x.rows
}

// allRows returns the rows of the run.
func (x *rowMaker) allRows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for _, nth := range x.rowNumbers() {
			if !yield(x.capture.rowAt(int(nth))) {
				return
			}
		}
	}
}
