package rows

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"mcpc/internal/capture"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A Capture is a file of traffic and the rows in it. The bytes stay in the file and are
// read on demand.
type Capture struct {
	// Path is as it was given to Open.
	Path string
	// Heads are those of its runs, in the order of the file.
	Heads []capture.Head
	rowStore
	findings []wire.Finding
	// heads are where the Heads are, ends where the runs' last lines are, by the index
	// of the head.
	headSpans []span
	endSpans  map[int]span
	// over are the runs of which no answer comes any more, by the index of the head.
	closedRuns []bool
	// runs are the numbers of its runs, repeated the indexes of the heads of a run with the number of an
	// earlier one.
	runNumbers, repeated map[int]bool
	// newest makes the rows of the run that began last, marked those of runs whose lines have their mark.
	newest *rowMaker
	marked map[string]*rowMaker
	// changed are the rows that the last lines touched; nil for all.
	changed  map[*Row]bool
	progress progress
	// reading reads on in steps; nil between two readings.
	reading *reading
	// again reads the capture a second time, from its beginning; nil most of the time.
	rereading *Capture
	// ended are runs that ended and are not finished, endedRows is how many exchanges they have. No run is finished if
	// lasting is set.
	endedRuns    []*rowMaker
	endedRows    int
	finishesNone bool
	// secrets hides what it knows in what is given out; nil hides nothing.
	secrets *redact.Secrets

	// file is read for the bytes of rows.
	file openFile
	// bundled has the lines of a capture that was part of another file; nil for a capture with a path of its own.
	bundled *os.File

	// indexPath is the path of the index file; "" if the capture has none.
	indexPath string
	// indexHead is the head of the index file that was read or written; nil without one.
	indexHead *indexHead
	// writer writes the index file; nil if there is one already, or if none is to be written.
	writer *indexWriter
	// unsaid is set while ReadOn has returned none of the rows of the index file.
	indexUnreported bool
	// altered is set if rows differ from what was read: they are not written to an index file.
	altered bool
}

// A span is where a line is in a file, in bytes.
type span struct {
	at     int64
	length int
}

// noteRepeated notes whether the last head has the number of a run before.
func (c *Capture) noteRepeated() {
	head := len(c.Heads) - 1
	run := c.Heads[head].Run
	if run == 0 {
		return
	}
	if c.runNumbers[run] {
		c.repeated[head] = true
	}
	c.runNumbers[run] = true
}

func newCapture(path string) *Capture {
	c := &Capture{Path: path, endSpans: map[int]span{}, marked: map[string]*rowMaker{}}
	c.runNumbers = map[int]bool{}
	c.repeated = map[int]bool{}
	c.owner = c
	return c
}

// Bundled reports whether the capture was taken out of another file.
func (c *Capture) Bundled() bool { return c.bundled != nil }

// RuleTorn is the rule of the finding about an incomplete last line.
const RuleTorn = "torn_line"

// Findings say which lines were left out, and why.
func (c *Capture) Findings() []wire.Finding {
	if c.progress.torn {
		return append(c.findings[:len(c.findings):len(c.findings)], wire.Finding{Rule: RuleTorn, Level: wire.Warning,
			Text: "the last line is incomplete and was skipped"})
	}
	return c.findings
}

// AddFinding adds what the caller knows to be wrong with the file from which the capture was taken.
func (c *Capture) AddFinding(f wire.Finding) { c.findings = append(c.findings, f) }

// Ended reports whether the last run came to its end.
func (c *Capture) Ended() bool {
	n := len(c.closedRuns)
	return n > 0 && c.closedRuns[n-1]
}

// Close closes the files that the Capture has open. It may be used again.
func (c *Capture) Close() {
	c.stopReading()
	c.writer.giveUp(c)
	c.pageFile.close()
	c.CloseIdle()
}

// Rest closes the file that was opened to read the bytes of rows, once no goroutine reads from it. It may be called
// while others read.
func (c *Capture) CloseIdle() { c.file.closeIdle() }

// keepBuffer is how large a buffer is used again.
const maxReusedBuffer = 4 << 20

// lineBuffers are buffers for lines, and for the bytes in them.
var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// inOrder sorts lines as they stand in the file, each once.
func inOrder(lines []span) []span {
	slices.SortFunc(lines, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	return slices.Compact(lines)
}

// eachLine reads lines from the file, with their line feeds; raw is good during
// the call only.
func (c *Capture) eachLine(spans []span, look func(raw []byte) error) error {
	f, err := c.file.acquire(func() (lines, error) { return c.openVerified(0) })
	if err != nil {
		return err
	}
	defer c.file.release()
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	for _, l := range spans {
		if l.at < 0 || l.length < 0 || l.at+int64(l.length) > c.progress.offset {
			return errIndex
		}
		if cap(*buf) < l.length || cap(*buf) > maxReusedBuffer {
			*buf = nil
			*buf = roomFor(l.length)
		}
		raw := (*buf)[:l.length]
		if _, err := f.ReadAt(raw, l.at); err != nil {
			return err
		}
		if err := look(raw); err != nil {
			return err
		}
	}
	return nil
}

// roomFor is memory for a line. Before that of a long one is taken, what is not used any
// more is given back: the line before it may have been as long.
func roomFor(length int) []byte {
	if length >= capture.LongFrame {
		runtime.GC()
	}
	return make([]byte, length)
}

// Copy writes the lines of some of its rows as they stand in the file: a capture
// again, with the heads of their runs, and the ends of those whose own exchange is
// among the rows; the end of a tap or a proxy is that of all its exchanges.
func (c *Capture) Copy(w io.Writer, rows []*Row) error {
	var lines []span
	partial := map[int64]bool{} // the heads of runs that repeat what another one has
	for _, row := range rows {
		head := c.headSpans[row.head]
		partial[head.at] = row.Head().After > 0
		lines = append(append(lines, head), row.spans()...)
		if end, ok := c.endSpans[row.head]; ok && (row.Own || row.By == capture.ByTap || row.By == capture.ByProxy) {
			lines = append(lines, end)
		}
	}
	for _, line := range inOrder(lines) {
		err := c.eachLine([]span{line}, func(raw []byte) error {
			out := append(bytes.TrimRight(c.safeLine(raw), "\r\n"), '\n')
			if partial[line.at] { // what is chosen is repeated from nowhere
				out = append(out, "{\"carried\":0}\n"...)
			}
			_, err := w.Write(out)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// StreamBefore is the head of the last GET that was sent in the conversation of a
// request of the row before it; nil where none was. It reads through the file.
func (c *Capture) StreamBefore(r *Row, request wire.Frame) (*wire.HTTPHead, error) {
	f, err := c.openVerified(0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head *wire.HTTPHead
	lines := newLineReader(f)
	run := -1
	mark := r.Head().In
	for {
		raw, _, err := lines.rawLine()
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := capture.ParseLine(raw) // what is damaged was said when it was listed
		switch frame := line.Frame; {
		case line.Head != nil:
			run++
		case frame == nil || line.In != mark || mark == "" && run != r.head || frame.Conn != request.Conn:
		case frame.Seq >= request.Seq:
			return head, nil
		case frame.Kind == wire.Head && frame.Dir == wire.Sent && frame.HTTP != nil && frame.HTTP.Method == "GET":
			head = frame.HTTP
		}
	}
}

// Main is the exchange that a person means who names none: the command's own, else
// one that opened no conversation, of others' traffic one that has ended, and of
// those the one that ended last; nil where there is none.
func (c *Capture) Main() *Row {
	rank := func(r *Row) int {
		switch {
		case r.Own:
			return 3
		case r.Elsewhere, r.Apart:
			return 0
		case r.Dir == wire.Received:
			return 1
		case !r.Opens() && !r.HTTPOnly:
			return 2
		}
		return 1
	}
	var best *Row
	for _, p := range c.Pages() {
		p.Select(func(r *Row) bool {
			if best == nil || rank(r) > rank(best) || rank(r) == rank(best) && !best.LaterThan(r) {
				best = r
				if p.rows == nil {
					own := *r
					best = &own
				}
			}
			return false
		})
	}
	if best != nil && c.all == nil {
		best = c.at(best.nth)
	}
	return best
}

// RowIn is the exchange with this number, from 1, in the run whose lines have a mark;
// nil where there is none.
func (c *Capture) RowIn(mark string, n int) *Row {
	x := c.marked[mark]
	if x == nil || n < 1 || n > len(x.rowNumbers()) {
		return nil
	}
	return c.at(int(x.rows[n-1]))
}

// Settle lets go of what only reading on needs, and of the rows that are not to be kept; nil
// keeps all. It is for a capture of one run to which nothing is added any more: Row and RowIn do
// not find its rows afterwards.
func (c *Capture) Freeze(isKept func(*Row) bool) {
	c.newest = nil
	c.marked = nil
	if isKept != nil {
		c.all = slices.Clip(slices.DeleteFunc(slices.Clone(c.Rows()), func(r *Row) bool { return !isKept(r) }))
	}
}
