package rows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// progress says how far a capture was read.
type progress struct {
	// offset is the length in bytes of the lines that were read, line is their number.
	offset int64
	line   int
	// torn is set if the last line has no end.
	torn bool
	// readFrom is the file that was opened last to read on.
	readFrom fs.FileInfo
	// mark is the mark of the part of the file that was read.
	mark ContentMark
}

// maxEndedRows bounds the exchanges of ended runs whose rowMakers are kept. Tests set a smaller
// limit.
var maxEndedRows = 20_000

// freezeOldRuns drops the state of the runs that ended first, if ended runs have too many
// exchanges. If a line of such a run follows after all, the capture is read again from its
// beginning.
func (x *rowMaker) freezeOldRuns() {
	c := x.capture
	if x.head.Mark == "" || c.neverFreezes { // without a mark no line can follow the end
		return
	}
	c.endedRuns = append(c.endedRuns, x)
	c.endedRows += len(x.exchangeRows)
	for len(c.endedRuns) > 1 && c.endedRows > maxEndedRows {
		old := c.endedRuns[0]
		c.endedRuns = c.endedRuns[1:]
		c.endedRows -= len(old.exchangeRows)
		// Keep the rowMaker itself, which makersByMark has.
		*old = rowMaker{
			capture: c, head: old.head, headIndex: old.headIndex, rows: old.rows,
			inRepeatedLines: old.inRepeatedLines, isFrozen: true,
		}
	}
}

// A stepReader reads the lines of a capture in steps.
type stepReader struct {
	file  lines
	lines *lineReader
	scan  scanner
	// chunks are the chunks that were read and not listed yet.
	chunks []*chunk
	// listedLines is how many lines of the first chunk were listed.
	listedLines int
	// freeChunks are reused.
	freeChunks []*chunk
	// offset is where the next line to be listed begins.
	offset int64
	// isLast is set once the end of the file was read.
	isLast bool
	// isAlone is set while the last line that was read is in the buffer of the reader, because it is
	// long. No more lines are read until it is listed.
	isAlone bool
	// skipped are the findings about skipped lines before the next line.
	skipped []wire.Finding
}

// A chunk is some consecutive lines. They are parsed in a goroutine while earlier lines are listed.
type chunk struct {
	lines  []chunkLine
	texts  []byte
	parsed chan struct{}
}

// A chunkLine is a line of a capture, or the error of reading it.
type chunkLine struct {
	raw     []byte
	readErr error
	// begin and end are the offsets of the line and of the next one.
	begin, end int64
	// number is the number of the line, from 1.
	number int
	// isWhole is set if the line has its line feed.
	isWhole bool
	// skipped are the findings about skipped lines before this one.
	skipped []wire.Finding

	parsed   capture.Line
	parseErr error
	message  *wire.Message
}

// chunkBytes is about how many bytes a chunk has. Tests set a smaller size.
var chunkBytes = 256 << 10

// maxAhead is how many chunks are parsed at the same time.
const maxAhead = 4

// nextLine returns the next line to be listed, once it is parsed. It starts to parse up to maxAhead
// chunks before. The line is valid until the next call.
func (rd *stepReader) nextLine() *chunkLine {
	if len(rd.chunks) > 0 && rd.listedLines == len(rd.chunks[0].lines) {
		rd.freeChunks = append(rd.freeChunks, rd.chunks[0])
		rd.chunks = rd.chunks[1:]
		rd.listedLines = 0
	}
	for len(rd.chunks) == 0 || len(rd.chunks) < maxAhead && !rd.isLast && !rd.isAlone {
		rd.chunks = append(rd.chunks, rd.readChunk())
	}
	c := rd.chunks[0]
	<-c.parsed
	rd.listedLines++
	return &c.lines[rd.listedLines-1]
}

// readChunk reads some lines and starts to parse them. The last line of the file has the error that
// ended the reading.
func (rd *stepReader) readChunk() *chunk {
	c := &chunk{}
	if n := len(rd.freeChunks); n > 0 {
		c = rd.freeChunks[n-1]
		rd.freeChunks = rd.freeChunks[:n-1]
	}
	clear(c.lines) // frees the memory of a long line
	*c = chunk{lines: c.lines[:0], texts: c.texts[:0], parsed: make(chan struct{})}
	lines := rd.lines
	rd.isAlone = false
	for len(c.texts) < chunkBytes && !rd.isLast && !rd.isAlone {
		raw, begin, err := lines.nextLine()
		rd.isLast = err != nil
		rd.isAlone = len(raw) > chunkBytes
		// Copy the line, as the reader's buffer is used again.
		if !rd.isAlone {
			start := len(c.texts)
			c.texts = append(c.texts, raw...)
			raw = c.texts[start:len(c.texts):len(c.texts)]
		}
		c.lines = append(c.lines, chunkLine{
			raw: raw, readErr: err, begin: begin, end: lines.offset,
			number: lines.line, isWhole: lines.isWhole, skipped: rd.skipped,
		})
		rd.skipped = nil
	}
	go c.parse()
	return c
}

// parse parses the lines, except an incomplete last line. A last line that only lacks its line feed
// is parsed.
func (c *chunk) parse() {
	defer close(c.parsed)
	var p capture.Parser
	for i := range c.lines {
		l := &c.lines[i]
		if l.readErr == nil && (l.isWhole || json.Valid(l.raw)) {
			l.parse(&p)
		}
	}
}

// parse parses the line and the message in its frame.
func (l *chunkLine) parse(p *capture.Parser) {
	l.parsed, l.parseErr = p.Parse(l.raw)
	if f := l.parsed.Frame; f != nil && (f.Kind == wire.Body || f.Kind == wire.Event) {
		l.message = wire.ParseMessage(f.Raw)
	}
}

// Refresh reads the lines that were written since the last call. It returns the new and changed
// rows, in no order.
func (c *Capture) Refresh() (changed []*Row, err error) {
	changed, _, err = c.ReadOn(math.MaxInt)
	return changed, err
}

// ReadOn reads new lines like Refresh, but in steps: it stops at the end of a line once it has read
// at least maxBytes bytes, and then returns true for more. It returns the errors of Open.
func (c *Capture) ReadOn(maxBytes int) (changed []*Row, more bool, err error) {
	c.changed = nil
	if c.progress.offset > 0 && !c.indexUnreported {
		c.Rows() // from now on each row keeps its address
		c.changed = map[*Row]bool{}
	}
	// Without c.changed the first call returns all rows, also the index's.
	c.indexUnreported = false
	more, err = c.readOn(maxBytes)
	if c.changed == nil {
		return c.Rows(), more, err
	}
	for row := range c.changed {
		changed = append(changed, row)
	}
	return changed, more, err
}

// readOn reads on as ReadOn does, and notes the changed rows.
func (c *Capture) readOn(maxBytes int) (more bool, err error) {
	if c.rereading != nil {
		return c.readAgain(maxBytes)
	}
	if c.reading == nil {
		c.reading, err = newStepReader(c)
		if err != nil {
			return false, err
		}
	}
	more, err = c.reading.readOn(c, maxBytes)
	if !more && err == nil {
		c.progress.mark, _ = markOf(c.reading.file, c.progress.offset) // without a mark nothing is compared
	}
	if !more {
		c.stopReading()
	}
	if errors.Is(err, errFrozen) {
		// A line continues a run whose state was dropped: read all again, and keep the state.
		c.rereading = newCapture(c.Path)
		c.rereading.bundled = c.bundled
		c.rereading.neverFreezes = true
		c.rereading.progress.mark = c.progress.mark
		return c.readAgain(maxBytes)
	}
	if !more && err == nil {
		c.writer.write(c)
	}
	return more, err
}

// errFrozen is the error for a line of a run whose rowMaker cannot add frames any more.
var errFrozen = errors.New("the run goes on")

// readAgain reads the capture from its beginning, without its index. The rows of the first reading
// stay as they are until the second one has read as far. It returns ErrReplaced if the file is
// shorter now.
func (c *Capture) readAgain(maxBytes int) (more bool, err error) {
	more, err = c.rereading.readOn(maxBytes)
	if err != nil {
		c.rereading.stopReading()
		c.rereading = nil
		return false, err
	}
	if c.rereading.progress.offset >= c.progress.offset {
		c.adopt(c.rereading) // the second reading has all lines of the first one
	} else if !more {
		c.rereading = nil
		return false, ErrReplaced
	}
	return more, nil
}

// adopt replaces the contents of the capture by the contents of another reading of the same file.
// Rows that the caller has keep their address: each gets the contents of the row with the same key.
// other must not be used afterwards.
func (c *Capture) adopt(other *Capture) {
	rows := c.allRows
	c.writer.giveUp(c)
	c.pageFile.close()
	if rows != nil {
		other.placeRows(rows)
	}
	for _, p := range other.Pages() {
		for _, r := range p.rows {
			r.moveTo(c)
		}
	}
	makers := append(slices.Collect(maps.Values(other.makersByMark)), other.endedRuns...)
	if other.newestMaker != nil {
		makers = append(makers, other.newestMaker)
	}
	for _, x := range makers {
		x.capture = c
		for _, request := range x.httpOnly {
			request.row.capture = c
		}
	}
	if other.reading != nil {
		other.reading.scan.capture = c
	}
	c.pages = other.pages
	c.count = other.count
	c.allRows = other.allRows
	c.unpacked = other.unpacked
	c.freeBlocks = nil
	c.conns = other.conns
	c.Heads = other.Heads
	c.findings = other.findings
	c.lost = other.lost
	c.headSpans = other.headSpans
	c.endSpans = other.endSpans
	c.closedRuns = other.closedRuns
	c.runNumbers = other.runNumbers
	c.repeatedRuns = other.repeatedRuns
	c.newestMaker = other.newestMaker
	c.makersByMark = other.makersByMark
	c.progress = other.progress
	c.reading = other.reading
	c.rereading = nil
	c.endedRuns = other.endedRuns
	c.endedRows = other.endedRows
	c.neverFreezes = other.neverFreezes
	c.changed = nil // all rows may have changed
	if c.secrets != nil {
		c.Hide(c.secrets)
	}
}

// placeRows moves each row to the address of the row with its key among others. Both lists are in
// the order of the file.
func (s *rowStore) placeRows(others []*Row) {
	rows := s.Rows()
	for i, r := range rows {
		if i < len(others) && others[i].Key() == r.Key() {
			*others[i] = *r
			rows[i] = others[i]
		}
	}
	// The rows that others refer to have moved.
	for _, r := range rows {
		if r.Within != nil {
			r.Within = rows[r.Within.fileIndex]
		}
		for i, other := range r.Guesses {
			r.Guesses[i] = rows[other.fileIndex]
		}
	}
}

// moveTo makes c the capture of the row and of the rows that it names.
func (r *Row) moveTo(c *Capture) {
	r.capture = c
	if r.Within != nil {
		r.Within.capture = c
	}
	if r.SameAs != nil {
		r.SameAs.capture = c
	}
	for _, other := range r.Guesses {
		other.capture = c
	}
}

// newStepReader opens the file of the capture to read on. It returns ErrReplaced if the file is
// another one.
func newStepReader(c *Capture) (*stepReader, error) {
	f, err := c.openAt(c.progress.offset)
	if err != nil {
		return nil, err
	}
	if c.progress.mark.offset > 0 && !c.progress.mark.matches(f) {
		f.Close()
		return nil, ErrReplaced
	}
	c.progress.readFrom = infoOf(f)
	r := newLineReader(f)
	r.offset = c.progress.offset
	r.line = c.progress.line
	rd := &stepReader{file: f, lines: r, scan: scanner{capture: c, hasHead: len(c.Heads) > 0}, offset: c.progress.offset}
	r.OnFinding = func(f wire.Finding) { rd.skipped = append(rd.skipped, f) }
	return rd, nil
}

// stopReading closes the file that is being read.
func (c *Capture) stopReading() {
	if c.rereading != nil {
		c.rereading.stopReading()
		c.rereading = nil
	}
	if c.reading != nil {
		c.reading.file.Close()
		c.reading = nil
	}
}

// readOn lists lines until it has listed at least maxBytes bytes. It reports more if the file may
// have more lines. An incomplete last line is left for the next call.
func (rd *stepReader) readOn(c *Capture, maxBytes int) (more bool, err error) {
	for start := rd.offset; rd.offset-start < int64(maxBytes); {
		line := rd.nextLine()
		rd.offset = line.end
		c.findings = append(c.findings, line.skipped...)
		if errors.Is(line.readErr, io.EOF) {
			c.progress.torn = line.end > line.begin
			if line.begin > c.progress.offset { // skipped lines are not read again
				c.progress.offset = line.begin
				c.progress.line = line.number - 1
			}
			return false, nil
		}
		if line.readErr != nil {
			if noteDamage(c, line.readErr) {
				return false, nil
			}
			return false, line.readErr
		}
		// The rest of an incomplete line may follow: it is read from its beginning the next time.
		c.progress.torn = !line.isWhole && !json.Valid(line.raw)
		if c.progress.torn {
			return false, rd.scan.requireHead()
		}
		if err := rd.scan.addLine(line); err != nil {
			return false, err
		}
		c.progress.offset = line.end
		c.progress.line = line.number
		if !line.isWhole {
			c.progress.line-- // its line feed is still missing
		}
		c.packOld()
	}
	return true, nil
}

// A scanner passes the lines of a capture to the rowMakers of their runs.
type scanner struct {
	capture *Capture
	// hasHead is set once a head was read.
	hasHead bool
	// maker is the rowMaker of the current line's run; nil if the run is unknown.
	maker *rowMaker
}

// addFinding adds a warning to the findings of the capture.
func (s *scanner) addFinding(rule, text string) {
	s.capture.findings = append(s.capture.findings, wire.Finding{Rule: rule, Severity: wire.Warning, Text: text})
}

// requireHead returns ErrNoCapture if no head was read.
func (s *scanner) requireHead() error {
	if s.hasHead {
		return nil
	}
	return ErrNoCapture
}

// addLine passes a line to the rowMaker of its run.
func (s *scanner) addLine(l *chunkLine) error {
	c := s.capture
	line := l.parsed
	err := l.parseErr
	place := span{l.begin, int(l.end - l.begin)}
	s.maker = c.makerFor([]byte(line.Mark))
	var version *capture.VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.hasHead && line.Head == nil:
		return ErrNoCapture
	case err != nil && l.isWhole:
		s.addFinding("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", l.number, err))
		// The line of another recorder may follow the part that a killed one wrote. In a string of the
		// killed recorder's line the quotes of the mark would be escaped.
		if i := bytes.LastIndex(l.raw, []byte(capture.MarkPrefix)); i > 0 {
			repaired := *l
			repaired.raw = l.raw[i:]
			repaired.begin += int64(i)
			repaired.parse(&capture.Parser{})
			return s.addLine(&repaired)
		}
	case err != nil: // the rest of the line may follow
	case line.Head != nil:
		s.hasHead = true
		c.beginRun(*line.Head, place)
	case s.maker == nil:
		s.addFinding("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", l.number))
	case s.maker.isFrozen:
		return errFrozen
	case line.Frame != nil:
		s.addFrame(line.Frame, l.message, place)
	case line.End != nil:
		s.maker.addEnd(line.End, place)
	case line.Next > 0:
		s.maker.continueInNextPart()
	case line.Carried != nil:
		s.maker.endRepeated()
	case line.Lost > 0:
		c.lost += line.Lost
		s.addFinding("lost_frames", fmt.Sprintf("line %d: %d frames were omitted from the recording", l.number, line.Lost))
	}
	return nil
}

// addFrame passes a frame to the rowMaker of its run. m is the message of the frame, or nil.
func (s *scanner) addFrame(f *wire.Frame, m *wire.Message, place span) {
	if f.Kind == wire.Head && f.HTTP == nil { // no Recorder writes one
		f.HTTP = &wire.HTTPHead{}
	}
	s.maker.addFrame(f, m, place)
}
