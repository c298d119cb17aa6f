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
	// mostCarried is how many bytes of one exchange are repeated. Of one that has more
	// it is the request.
	maxRepeatedBytes = 1 << 20
	// mostOpenings is how many openings of conversations are repeated, the last ones.
	maxRepeatedOpenings = 50
)

// Carry is a capture.Carry. It reads only the spans, since a rotation delays the traffic.
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
		r.src.Reset(io.NewSectionReader(f, lines.At, lines.Length))
		for r.offset = lines.At; ; c.packOld() {
			raw, at, err := r.rawLine()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return 0, err
			}
			l := chunkLine{raw: raw, begin: at, end: r.offset, number: r.line, isWhole: true}
			l.parse(&parser)
			if err := s.line(&l); err != nil {
				return 0, err
			}
			c.progress.offset = r.offset
		}
	}
	if !s.begun {
		return 0, ErrNoCapture
	}
	return c.carry(w)
}

// carry writes the lines that the next part repeats, and returns their number.
func (c *Capture) carry(w io.Writer) (carried int, err error) {
	maker := c.newest
	var lines []span
	openings := 0
	for _, nth := range slices.Backward(maker.openings) {
		if row := c.at(int(nth)); !row.Open() && openings < maxRepeatedOpenings {
			openings++
			lines = append(lines, row.linesToRepeat()...)
		}
	}
	for _, row := range maker.unfinished() {
		lines = append(lines, row.linesToRepeat()...)
	}
	for _, conn := range maker.conns {
		lines = append(lines, conn.opened...)
	}
	lines = inOrder(lines)
	return len(lines), c.eachLine(lines, func(raw []byte) error {
		_, err := w.Write(append(bytes.TrimRight(raw, "\r\n"), '\n'))
		return err
	})
}

// unfinished are the rows that the next part repeats: those that wait for their answer, and
// the last ones that were cancelled, whose answer may still come.
func (x *rowMaker) unfinished() (rows []*Row) {
	cancelled := 0
	for _, nth := range slices.Backward(x.waitingRows()) {
		row := x.capture.at(int(nth))
		if row.Cancel != nil && !row.Cancel.Late && cancelled < maxRepeatedOpenings {
			cancelled++
		} else if !row.Open() {
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// streams notes the lines that opened the stream of HTTP+SSE of a conversation.
func (x *rowMaker) noteStreamLines(c *conn, stream int) {
	c.stream = stream
	c.opened = nil
	for _, h := range x.pending.frames {
		if h.frame.Stream == stream {
			c.opened = append(c.opened, h.line)
		}
	}
}

// carried are the lines of a row that the next part repeats.
func (r *Row) linesToRepeat() []span {
	lines := r.spans()
	length := 0
	for _, l := range lines {
		length += l.length
	}
	if length > maxRepeatedBytes {
		return lines[:min(2, len(lines))]
	}
	return lines
}

// carried notes that what was read so far of this run was repeated: what has ended
// is listed in the part before, what is open in this one from now on.
func (x *rowMaker) endRepeated() {
	x.repeating = false
	for row := range x.allRows() {
		row.Elsewhere = true
		x.markChanged(row)
	}
	for _, row := range x.unfinished() {
		row.Elsewhere, row.Repeated = false, row.Cancel != nil
	}
}

// Carried are the parts of recordings that go on in another part, and whether that has all that is repeated in it.
type Carried map[partID]bool

// A partID tells a part from another recording with the same number.
type partID struct {
	run     int
	started int64
}

// Agree settles which of two parts has what is open at a rotation while their recorder is
// between them: the newer one, which has to be read first, if that was all there then.
// carried are the parts from which those that were read go on.
func (c *Capture) ResolveCarried(carried Carried) {
	maker := c.newest
	if maker == nil {
		return
	}
	started := maker.head.Started.UnixNano()
	if isComplete, rotated := carried[partID{maker.head.Run, started}]; rotated {
		for _, row := range maker.unfinished() {
			c.altered = c.altered || row.Elsewhere != isComplete
			row.Elsewhere = isComplete
		}
	}
	if maker.head.After > 0 {
		carried[partID{maker.head.After, started}] = !maker.repeating
	}
}

// Forget forgets a run that was deleted or replaced, which went on from another one: 0 is from none.
func (all Carried) Forget(run, after int) {
	maps.DeleteFunc(all, func(id partID, _ bool) bool { return id.run == run || id.run == after })
}

// next notes that the run goes on in another one: so does what is open.
func (x *rowMaker) continueInNextPart() {
	x.capture.closedRuns[x.headIndex] = true
	for _, row := range x.unfinished() {
		row.Elsewhere = true
		x.markChanged(row)
	}
}
