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

// A Capture is a file of traffic with its rows. The bytes of the traffic stay in the file and are
// read on demand.
type Capture struct {
	// Path is the path that Open got.
	Path string
	// Heads are the heads of the runs, in the order of the file.
	Heads []capture.Head
	rowStore
	findings []wire.Finding
	// lost is how many frames the recorders left out.
	lost int
	// headSpans are the lines of the Heads.
	headSpans []span
	// endSpans are the lines that ended runs, by the index of the run in Heads.
	endSpans map[int]span
	// closedRuns has a flag for each run in Heads: set if no more responses can follow.
	closedRuns []bool
	// runNumbers are the numbers of the runs.
	runNumbers map[int]bool
	// repeatedRuns are the indexes in Heads of runs with the number of an earlier run.
	repeatedRuns map[int]bool
	// newestMaker makes the rows of the last run.
	newestMaker *rowMaker
	// makersByMark makes the rows of runs whose lines have a mark, by the mark.
	makersByMark map[string]*rowMaker
	// changed are the rows that changed since the last ReadOn; nil means all.
	changed  map[*Row]bool
	progress progress
	// reading reads on in steps; nil if nothing is being read.
	reading *stepReader
	// rereading reads the capture a second time, from its beginning; usually nil.
	rereading *Capture
	// endedRuns are the ended runs whose rowMakers have their whole state; see freezeOldRuns.
	endedRuns []*rowMaker
	// endedRows counts the exchanges of the endedRuns.
	endedRows int
	// neverFreezes is set if freezeOldRuns freezes no run.
	neverFreezes bool
	// secrets hides secrets in everything that the Capture returns; nil hides nothing.
	secrets *redact.Secrets

	// file is the open file that the bytes of rows are read from.
	file openFile
	// bundled has the lines of a capture that is a member of another file; nil if the capture is a
	// separate file.
	bundled *os.File

	// indexPath is the path of the index file; "" if the capture has no index file.
	indexPath string
	// indexHead is the head of the index file that was read or written; nil without an index file.
	indexHead *indexHead
	// writer writes the index file; nil if the index exists or is not wanted.
	writer *indexWriter
	// indexUnreported is set until ReadOn has returned the rows of the index file.
	indexUnreported bool
	// altered is set if rows differ from the file, so that no index file may be written.
	altered bool
}

// A span is the place of a line in a file, in bytes.
type span struct {
	offset int64
	length int
}

// noteRepeated notes whether an earlier run has the number of the last run.
func (c *Capture) noteRepeated() {
	head := len(c.Heads) - 1
	run := c.Heads[head].Run
	if run == 0 {
		return
	}
	if c.runNumbers[run] {
		c.repeatedRuns[head] = true
	}
	c.runNumbers[run] = true
}

// newCapture returns an unread Capture.
func newCapture(path string) *Capture {
	c := &Capture{Path: path, endSpans: map[int]span{}, makersByMark: map[string]*rowMaker{}}
	c.runNumbers = map[int]bool{}
	c.repeatedRuns = map[int]bool{}
	c.owner = c
	return c
}

// IsBundled reports whether the capture is a member of another file.
func (c *Capture) IsBundled() bool { return c.bundled != nil }

// RuleTorn is the rule of the finding about an incomplete last line.
const RuleTorn = "torn_line"

// Findings returns warnings about the lines that were skipped.
func (c *Capture) Findings() []wire.Finding {
	if c.progress.torn {
		return append(c.findings[:len(c.findings):len(c.findings)], wire.Finding{
			Rule: RuleTorn, Severity: wire.Warning,
			Text: "the last line is incomplete and was skipped",
		})
	}
	return c.findings
}

// Lost returns how many frames the recorders left out.
func (c *Capture) Lost() int { return c.lost }

// AddFinding adds a finding of the caller about the file that contains the capture.
func (c *Capture) AddFinding(f wire.Finding) { c.findings = append(c.findings, f) }

// HasEnded reports whether the last run has ended.
func (c *Capture) HasEnded() bool {
	n := len(c.closedRuns)
	return n > 0 && c.closedRuns[n-1]
}

// Close closes the files of the Capture. The Capture opens them again if it is used afterwards.
func (c *Capture) Close() {
	c.stopReading()
	c.writer.giveUp(c)
	c.pageFile.close()
	c.CloseIdle()
}

// CloseIdle closes the file that the bytes of rows are read from, once no goroutine reads from it.
// It may be called at any time.
func (c *Capture) CloseIdle() { c.file.closeIdle() }

// maxReusedBuffer is the largest buffer in bytes that is reused.
const maxReusedBuffer = 4 << 20

// lineBuffers are buffers for lines and for the decoded bytes of frames.
var lineBuffers = sync.Pool{New: func() any { return new([]byte) }}

// inOrder sorts lines by their place in the file and removes duplicates.
func inOrder(lines []span) []span {
	slices.SortFunc(lines, func(a, b span) int { return cmp.Compare(a.offset, b.offset) })
	return slices.Compact(lines)
}

// eachLine calls visit with each line that spans locates, including its line feed. raw is valid
// during the call only. It stops at an error of visit and returns it. A span outside of the lines
// that were read is errIndex: only a damaged index has one.
func (c *Capture) eachLine(spans []span, visit func(raw []byte) error) error {
	f, err := c.file.acquire(func() (lines, error) { return c.openVerified(0) })
	if err != nil {
		return err
	}
	defer c.file.release()
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	for _, l := range spans {
		if l.offset < 0 || l.length < 0 || l.offset+int64(l.length) > c.progress.offset {
			return errIndex
		}
		// Drop the old buffer first, so that both are not in memory at once.
		if cap(*buf) < l.length || cap(*buf) > maxReusedBuffer {
			*buf = nil
			*buf = roomFor(l.length)
		}
		raw := (*buf)[:l.length]
		if _, err := f.ReadAt(raw, l.offset); err != nil {
			return err
		}
		if err := visit(raw); err != nil {
			return err
		}
	}
	return nil
}

// roomFor returns memory for a line. Before it allocates a long line it frees unused memory,
// because the line before may have been as long.
func roomFor(length int) []byte {
	if length >= capture.LongFrame {
		runtime.GC()
	}
	return make([]byte, length)
}

// Copy writes the lines of some rows as a separate capture, with the heads of their runs. It adds
// the End of a command's run if the command's own exchange is among the rows, and always the End of
// a tap or a proxy.
func (c *Capture) Copy(w io.Writer, rows []*Row) error {
	var lines []span
	partial := map[int64]bool{} // heads of runs that begin with lines of another run
	for _, row := range rows {
		head := c.headSpans[row.headIndex]
		partial[head.offset] = row.Head().PreviousRun > 0
		// inOrder removes the heads and ends that occur several times.
		lines = append(append(lines, head), row.spans()...)
		if end, ok := c.endSpans[row.headIndex]; ok && (row.IsMain || row.By == capture.ByTap || row.By == capture.ByProxy) {
			lines = append(lines, end)
		}
	}
	for _, line := range inOrder(lines) {
		err := c.eachLine([]span{line}, func(raw []byte) error {
			out := append(bytes.TrimRight(c.safeLine(raw), "\r\n"), '\n')
			if partial[line.offset] { // in the copy no line is repeated
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

// StreamBefore returns the head of the last GET in the conversation of the row before a request of
// the row; nil if there is no GET. It reads the whole file.
func (c *Capture) StreamBefore(r *Row, request wire.Frame) (*wire.HTTPHead, error) {
	f, err := c.openVerified(0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var head *wire.HTTPHead
	lines := newLineReader(f)
	run := -1
	mark := r.Head().Mark
	for {
		raw, _, err := lines.nextLine()
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := capture.ParseLine(raw) // the Findings report damaged lines
		frame := line.Frame
		// Lines without a mark belong to the run of the last head.
		isOtherRun := line.Mark != mark || mark == "" && run != r.headIndex
		switch {
		case line.Head != nil:
			run++
		case frame == nil || isOtherRun || frame.Conn != request.Conn:
			// The frame is not of the row's conversation.
		case frame.Seq >= request.Seq:
			return head, nil
		case frame.Kind == wire.Head && frame.Dir == wire.Sent && frame.HTTP != nil && frame.HTTP.Method == "GET":
			head = frame.HTTP
		}
	}
}

// Main returns the exchange that a command shows if the user names no exchange. It prefers the
// command's own exchange, then a request of the client that opened no conversation, then any other
// exchange of this conversation, then anything else; of equals the latest by LaterThan. Returns nil
// if there is no row.
func (c *Capture) Main() *Row {
	const (
		unrelated = iota
		other
		request
		own
	)
	rank := func(r *Row) int {
		if r.IsMain {
			return own
		}
		if r.ListedElsewhere || r.IsSeparate {
			return unrelated
		}
		if r.Dir == wire.Sent && !r.OpensConversation() && !r.IsHTTPOnly {
			return request
		}
		return other
	}
	var best *Row
	isBetter := func(r *Row) bool {
		if best == nil {
			return true
		}
		if rank(r) != rank(best) {
			return rank(r) > rank(best)
		}
		return !best.LaterThan(r)
	}
	for _, p := range c.Pages() {
		p.Select(func(r *Row) bool {
			if isBetter(r) {
				best = r
				if p.rows == nil { // the page's memory is used again for its next row
					kept := *r
					best = &kept
				}
			}
			return false
		})
	}
	// Select decodes copies of packed rows: return the row that the Capture keeps.
	if best != nil && c.allRows == nil {
		best = c.rowAt(best.fileIndex)
	}
	return best
}

// RowIn returns the row with a number, from 1, in the run whose lines have a mark, or nil without
// such a row.
func (c *Capture) RowIn(mark string, n int) *Row {
	x := c.makersByMark[mark]
	if x == nil || n < 1 || n > len(x.rowNumbers()) {
		return nil
	}
	return c.rowAt(int(x.rows[n-1]))
}

// Freeze drops the state that only ReadOn needs, and the rows that isKept rejects; nil keeps all.
// It is for a finished capture of one run. Row and RowIn do not work afterwards: RowIn returns nil,
// and Row counts only the kept rows.
func (c *Capture) Freeze(isKept func(*Row) bool) {
	c.newestMaker = nil
	c.makersByMark = nil
	if isKept != nil {
		c.allRows = slices.Clip(slices.DeleteFunc(slices.Clone(c.Rows()), func(r *Row) bool { return !isKept(r) }))
	}
}
