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

// unfinished returns the rows that the next part repeats: the rows without a response, and the
// latest cancelled rows, whose response may still come.
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

// noteStreamLines notes the lines that opened the HTTP+SSE stream of a conversation.
func (x *rowMaker) noteStreamLines(c *conn, stream int) {
	c.stream = stream
	c.opened = nil
	for _, h := range x.pending.frames {
		if h.frame.Stream == stream {
			c.opened = append(c.opened, h.line)
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
		return lines[:min(2, len(lines))]
	}
	return lines
}

// endRepeated handles the line after the repeated lines. The earlier part lists the repeated rows
// that ended; this part lists the unfinished ones.
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

// Carried says for each part that another part continues whether that part has all repeated lines.
type Carried map[partID]bool

// A partID identifies a part of a recording. Another recording may have a run with the same number.
type partID struct {
	run     int
	started int64
}

// ResolveCarried decides which of two parts lists the unfinished rows while the recorder is
// rotating: the newer part does once it has all repeated lines. The newer part has to be read
// first. carried is the result for the newer parts, and gets that for this one.
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

// Forget forgets a run that was deleted or replaced. after is the run that it continued; 0 if none.
func (all Carried) Forget(run, after int) {
	maps.DeleteFunc(all, func(id partID, _ bool) bool { return id.run == run || id.run == after })
}

// continueInNextPart handles the line that names the next part, which lists the unfinished rows
// from now on.
func (x *rowMaker) continueInNextPart() {
	x.capture.closedRuns[x.headIndex] = true
	for _, row := range x.unfinished() {
		row.Elsewhere = true
		x.markChanged(row)
	}
}
