package rows

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"mcpc/internal/capture"
)

const (
	// maxRepeatedBytes is how many bytes of one exchange are repeated. Only the request of a larger
	// exchange is repeated.
	maxRepeatedBytes = 1 << 20
	// maxRepeatedOpenings is how many openings of conversations are repeated: the latest ones.
	maxRepeatedOpenings = 50
)

// Carry writes the lines that the next part repeats. It is a capture.Carry. It reads only the
// spans, because a rotation delays the traffic.
func Carry(w io.Writer, part string, spans []capture.Span) (carried int, err error) {
	c := newCapture(part)
	defer c.Close()
	f, err := c.openAt(0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := scanner{capture: c}
	r := newLineReader(f)
	var parser capture.Parser
	for _, lines := range spans {
		r.buffered.Reset(io.NewSectionReader(f, lines.Offset, lines.Length))
		for r.offset = lines.Offset; ; c.packOld() {
			raw, at, err := r.nextLine()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			l := chunkLine{raw: raw, begin: at, end: r.offset, number: r.line, isWhole: true}
			l.parse(&parser)
			if err := s.addLine(&l); err != nil {
				return 0, err
			}
			// eachLine returns no lines beyond the offset.
			c.progress.offset = r.offset
		}
	}
	if !s.hasHead {
		return 0, ErrNoCapture
	}
	return c.carry(w)
}

// carry writes the lines that the next part repeats, and returns their number: the openings of
// conversations, the exchanges without a response, and the lines that opened HTTP+SSE streams.
func (c *Capture) carry(w io.Writer) (int, error) {
	maker := c.newestMaker
	var lines []span
	openings := 0
	for _, nth := range slices.Backward(maker.openings) {
		if row := c.rowAt(int(nth)); !row.IsOpen() && openings < maxRepeatedOpenings { // open ones follow below
			openings++
			lines = append(lines, row.linesToRepeat()...)
		}
	}
	for _, row := range maker.unfinishedRows() {
		lines = append(lines, row.linesToRepeat()...)
	}
	for _, conn := range maker.conns {
		lines = append(lines, conn.openingLines...)
	}
	lines = inOrder(lines)
	return len(lines), c.eachLine(lines, func(raw []byte) error {
		_, err := w.Write(append(bytes.TrimRight(raw, "\r\n"), '\n'))
		return err
	})
}

// unfinishedRows returns the rows that the next part repeats: the rows without a response, and the
// latest cancelled rows, whose response may still come.
func (x *rowMaker) unfinishedRows() []*Row {
	cancelled := 0
	var rows []*Row
	for _, nth := range slices.Backward(x.waitingRows()) {
		row := x.capture.rowAt(int(nth))
		if row.Cancel != nil && !row.Cancel.IsLate && cancelled < maxRepeatedOpenings {
			cancelled++
		} else if !row.IsOpen() {
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// noteStreamLines notes the lines that opened the HTTP+SSE stream of a conversation: its heads,
// which wait for their exchange.
func (x *rowMaker) noteStreamLines(c *conn, stream int) {
	c.sseStream = stream
	c.openingLines = nil
	for _, pending := range x.pending.frames {
		if pending.frame.Stream == stream {
			c.openingLines = append(c.openingLines, pending.line)
		}
	}
}

// linesToRepeat returns the lines of a row that the next part repeats.
func (r *Row) linesToRepeat() []span {
	lines := r.spans()
	length := 0
	for _, l := range lines {
		length += l.length
	}
	if length > maxRepeatedBytes {
		return lines[:min(2, len(lines))] // the head and the message of the request
	}
	return lines
}

// endRepeated handles the line after the repeated lines. The earlier part lists the repeated rows
// that ended; this part lists the unfinished ones.
func (x *rowMaker) endRepeated() {
	x.inRepeatedLines = false
	// All rows so far come from repeated lines.
	for row := range x.allRows() {
		row.ListedElsewhere = true
		x.markChanged(row)
	}
	for _, row := range x.unfinishedRows() {
		row.ListedElsewhere = false
		row.CancelledEarlier = row.Cancel != nil
	}
}

// Carried says for each part that another part continues whether that part has all repeated lines.
type Carried map[partID]bool

// A partID identifies a part of a recording. Another recording may have a run with the same number.
type partID struct {
	run     int
	started int64
}

// ResolveCarried decides which of two parts lists the unfinished rows while the recorder is
// rotating: the newer part does once it has all repeated lines. The newer part has to be read
// first. carried has this for the parts whose newer part was read before, and ResolveCarried adds
// it for the part before this one.
func (c *Capture) ResolveCarried(carried Carried) {
	maker := c.newestMaker
	if maker == nil {
		return
	}
	// All parts of a recording have the same time.
	started := maker.head.Started.UnixNano()
	if isComplete, rotated := carried[partID{maker.head.Run, started}]; rotated {
		for _, row := range maker.unfinishedRows() {
			c.altered = c.altered || row.ListedElsewhere != isComplete
			row.ListedElsewhere = isComplete
		}
	}
	if maker.head.PreviousRun > 0 {
		carried[partID{maker.head.PreviousRun, started}] = !maker.inRepeatedLines
	}
}

// Forget forgets a run that was deleted or replaced. after is the run that it continued, or 0.
func (all Carried) Forget(run, after int) {
	maps.DeleteFunc(all, func(id partID, _ bool) bool { return id.run == run || id.run == after })
}

// continueInNextPart handles the line that names the next part, which lists the unfinished rows
// from now on.
func (x *rowMaker) continueInNextPart() {
	x.capture.closedRuns[x.headIndex] = true
	for _, row := range x.unfinishedRows() {
		row.ListedElsewhere = true
		x.markChanged(row)
	}
}
