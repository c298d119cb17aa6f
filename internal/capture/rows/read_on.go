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

// progress is how far a capture was read.
type progress struct {
	// offset is how many bytes of whole lines were read, line how many lines.
	offset int64
	line   int
	// torn is set if the last line is incomplete.
	torn bool
	// readFrom is the file that was opened last to read on, mark that of the part of it that was read.
	readFrom fs.FileInfo
	mark     ContentMark
}

// mostEndedRows limits the exchanges of ended runs that are kept in memory. Tests set a smaller limit.
var mostEndedRows = 20_000

// finishOld finishes runs that ended before this one: the capture is read again from its beginning if a line of
// one of them follows after all.
func (x *rowMaker) finishOld() {
	c := x.capture
	if x.head.In == "" || c.lasting {
		return
	}
	c.ended = append(c.ended, x)
	c.endedRows += len(x.exchanges)
	for len(c.ended) > 1 && c.endedRows > mostEndedRows {
		old := c.ended[0]
		c.ended = c.ended[1:]
		c.endedRows -= len(old.exchanges)
		*old = rowMaker{capture: c, head: old.head, at: old.at, rows: old.rows, repeating: old.repeating, finished: true}
	}
}

// A reading goes through the lines of a capture in steps.
type reading struct {
	file  lines
	lines *lineReader
	scan  scanner
	// ahead are the chunks that are not listed yet, listed is how many lines of the first one were; behind is where the
	// next line begins.
	ahead  []*chunk
	free   []*chunk // to be used again
	listed int
	behind int64
	// isLast is set once there is nothing more to read, isAlone while the last line that was read is a long one, which
	// the reader has: one of them is in memory at a time.
	isLast, isAlone bool
	// skipped are the findings of lines that were left out before the next line.
	skipped []wire.Finding
}

// A chunk is some lines that follow each other. They are parsed while those before them are listed.
type chunk struct {
	lines  []chunkLine
	texts  []byte
	parsed chan struct{}
}

// A chunkLine is a line of a capture, or the error of its reader.
type chunkLine struct {
	raw     []byte
	readErr error
	// at is where it begins, behind where the next one does, number its own, from 1.
	at, behind int64
	number     int
	// isWhole is set if it has its line feed.
	isWhole bool
	// skipped are the findings of the lines before it that were left out.
	skipped []wire.Finding

	parsed  capture.Line
	err     error
	message *wire.Message
}

// Tests have smaller chunks.
var chunkBytes = 256 << 10

// maxAhead is how many chunks are parsed at a time.
const maxAhead = 4

// next returns the line that is listed next.
func (part *reading) next() *chunkLine {
	if len(part.ahead) > 0 && part.listed == len(part.ahead[0].lines) {
		part.free = append(part.free, part.ahead[0])
		part.ahead = part.ahead[1:]
		part.listed = 0
	}
	for len(part.ahead) == 0 || len(part.ahead) < maxAhead && !part.isLast && !part.isAlone {
		part.ahead = append(part.ahead, part.readChunk())
	}
	k := part.ahead[0]
	<-k.parsed
	part.listed++
	return &k.lines[part.listed-1]
}

// readChunk reads some lines and begins to parse them.
func (part *reading) readChunk() *chunk {
	k := &chunk{}
	if n := len(part.free); n > 0 {
		k = part.free[n-1]
		part.free = part.free[:n-1]
	}
	clear(k.lines) // of which one may be long
	*k = chunk{lines: k.lines[:0], texts: k.texts[:0], parsed: make(chan struct{})}
	r := part.lines
	part.isAlone = false
	for len(k.texts) < chunkBytes && !part.isLast && !part.isAlone {
		raw, at, err := r.rawLine()
		part.isLast = err != nil
		part.isAlone = len(raw) > chunkBytes
		if !part.isAlone {
			from := len(k.texts)
			k.texts = append(k.texts, raw...)
			raw = k.texts[from:len(k.texts):len(k.texts)]
		}
		k.lines = append(
			k.lines,
			chunkLine{raw: raw, readErr: err, at: at, behind: r.offset, number: r.line, isWhole: r.whole,
				skipped: part.skipped},
		)
		part.skipped = nil
	}
	go k.parse()
	return k
}

// parse parses the lines. A line without its end is parsed once that is there.
func (k *chunk) parse() {
	defer close(k.parsed)
	var p capture.Parser
	for i := range k.lines {
		l := &k.lines[i]
		if l.readErr == nil && (l.isWhole || json.Valid(l.raw)) {
			l.parse(&p)
		}
	}
}

func (l *chunkLine) parse(p *capture.Parser) {
	l.parsed, l.err = p.Parse(l.raw)
	if f := l.parsed.Frame; f != nil && (f.Kind == wire.Body || f.Kind == wire.Event) {
		l.message = wire.ParseMessage(f.Raw)
	}
}

// Refresh reads what was written since, and gives the rows that are new or have
// changed, in no order.
func (c *Capture) Refresh() (changed []*Row, err error) {
	changed, _, err = c.ReadOn(math.MaxInt)
	return changed, err
}

// ReadOn is Refresh that stops behind the line with which it has read at least most bytes;
// more is set where it did. The errors are those of Open.
func (c *Capture) ReadOn(most int) (changed []*Row, more bool, err error) {
	c.changed = nil
	if c.progress.offset > 0 && !c.unsaid {
		c.Rows() // which stay where they are
		c.changed = map[*Row]bool{}
	}
	c.unsaid = false
	more, err = c.readOn(most)
	if c.changed == nil {
		return c.Rows(), more, err
	}
	for row := range c.changed {
		changed = append(changed, row)
	}
	return changed, more, err
}

// readOn reads on as ReadOn does.
func (c *Capture) readOn(most int) (more bool, err error) {
	if c.again != nil {
		return c.readAgain(most)
	}
	if c.reading == nil {
		c.reading, err = newReading(c)
		if err != nil {
			return false, err
		}
	}
	more, err = c.reading.readOn(c, most)
	if !more && err == nil {
		c.progress.mark, _ = markOf(c.reading.file, c.progress.offset) // what cannot be read is not compared
	}
	if !more {
		c.stop()
	}
	if errors.Is(err, errFinished) {
		c.again = newCapture(c.Path)
		c.again.bundled = c.bundled
		c.again.lasting = true
		c.again.progress.mark = c.progress.mark
		return c.readAgain(most)
	}
	if !more && err == nil {
		c.writer.write(c)
	}
	return more, err
}

// errFinished is the error of lines that belong to a run that is finished: it was taken from an
// index, or ended a while before.
var errFinished = errors.New("the run goes on")

// readAgain reads the capture from its beginning, without an index. Until that has come as far as the first
// reading, the rows of the first reading stay as they are.
func (c *Capture) readAgain(most int) (more bool, err error) {
	more, err = c.again.readOn(most)
	if err != nil {
		c.again.stop()
		c.again = nil
		return false, err
	}
	if c.again.progress.offset >= c.progress.offset {
		c.takeFrom(c.again)
	} else if !more {
		c.again = nil
		return false, ErrReplaced
	}
	return more, nil
}

// takeFrom makes the capture what another reading of the same file made of it. Rows that were given out stay where
// they are: each gets the contents that the other reading gave the row with its key.
func (c *Capture) takeFrom(again *Capture) {
	given := c.all
	c.writer.giveUp(c)
	c.pageFile.close()
	if given != nil {
		again.placeRows(given)
	}
	for _, p := range again.Pages() {
		for _, r := range p.rows {
			r.movedTo(c)
		}
	}
	makers := append(slices.Collect(maps.Values(again.marked)), again.ended...)
	if again.newest != nil {
		makers = append(makers, again.newest)
	}
	for _, x := range makers {
		x.capture = c
		for _, request := range x.httpOnly {
			request.row.capture = c
		}
	}
	if again.reading != nil {
		again.reading.scan.capture = c
	}
	c.pages = again.pages
	c.count = again.count
	c.all = again.all
	c.unpacked = again.unpacked
	c.blocks = nil
	c.conns = again.conns
	c.Heads = again.Heads
	c.findings = again.findings
	c.heads = again.heads
	c.ends = again.ends
	c.over = again.over
	c.runs = again.runs
	c.repeated = again.repeated
	c.newest = again.newest
	c.marked = again.marked
	c.progress = again.progress
	c.reading = again.reading
	c.again = nil
	c.ended = again.ended
	c.endedRows = again.endedRows
	c.lasting = again.lasting
	c.changed = nil
	if c.secrets != nil {
		c.Hide(c.secrets)
	}
}

// placeRows puts each row where the row with its key is among others, in their order.
func (s *rowStore) placeRows(others []*Row) {
	rows := s.Rows()
	for i, r := range rows {
		if i < len(others) && others[i].Key() == r.Key() {
			*others[i] = *r
			rows[i] = others[i]
		}
	}
	for _, r := range rows {
		if r.Within != nil {
			r.Within = rows[r.Within.nth]
		}
		for i, other := range r.Guesses {
			r.Guesses[i] = rows[other.nth]
		}
	}
}

// movedTo notes that another Capture has the row.
func (r *Row) movedTo(c *Capture) {
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

func newReading(c *Capture) (*reading, error) {
	f, err := c.from(c.progress.offset)
	if err != nil {
		return nil, err
	}
	if c.progress.mark.offset > 0 && !c.progress.mark.isOf(f) {
		f.Close()
		return nil, ErrReplaced
	}
	c.progress.readFrom = infoOf(f)
	r := newLineReader(f)
	r.offset = c.progress.offset
	r.line = c.progress.line
	part := &reading{file: f, lines: r, scan: scanner{capture: c, begun: len(c.Heads) > 0}, behind: c.progress.offset}
	r.OnFinding = func(f wire.Finding) { part.skipped = append(part.skipped, f) }
	return part, nil
}

// stop ends the reading.
func (c *Capture) stop() {
	if c.again != nil {
		c.again.stop()
		c.again = nil
	}
	if c.reading != nil {
		c.reading.file.Close()
		c.reading = nil
	}
}

// readOn lists the lines, until it has read at least most bytes.
func (part *reading) readOn(c *Capture, most int) (more bool, err error) {
	for from := part.behind; part.behind-from < int64(most); {
		l := part.next()
		part.behind = l.behind
		c.findings = append(c.findings, l.skipped...)
		if errors.Is(l.readErr, io.EOF) {
			c.progress.torn = l.behind > l.at
			if l.at > c.progress.offset { // what was left out is not read again
				c.progress.offset = l.at
				c.progress.line = l.number - 1
			}
			return false, nil
		}
		if l.readErr != nil {
			if noteDamage(c, l.readErr) {
				return false, nil
			}
			return false, l.readErr
		}
		// The rest of a line without its end may follow. If its beginning were read now, it would be read twice.
		c.progress.torn = !l.isWhole && !json.Valid(l.raw)
		if c.progress.torn {
			return false, part.scan.orNone()
		}
		if err := part.scan.line(l); err != nil {
			return false, err
		}
		c.progress.offset = l.behind
		c.progress.line = l.number
		if !l.isWhole {
			c.progress.line-- // its end is still to come
		}
		c.packOld()
	}
	return true, nil
}

// A scanner gives the lines of a capture to the rowMakers of their runs.
type scanner struct {
	capture *Capture
	// begun is set once a head was read.
	begun bool
	// maker makes the rows of the line's run.
	maker *rowMaker
}

func (s *scanner) found(rule, text string) {
	s.capture.findings = append(s.capture.findings, wire.Finding{Rule: rule, Level: wire.Warning, Text: text})
}

// orNone is the error of a file that ends before it began as a capture does.
func (s *scanner) orNone() error {
	if s.begun {
		return nil
	}
	return ErrNoCapture
}

// line gives a line to the rowMaker of its run.
func (s *scanner) line(l *chunkLine) error {
	c := s.capture
	line := l.parsed
	err := l.err
	at := span{l.at, int(l.behind - l.at)}
	s.maker = c.makerOf([]byte(line.In))
	var version *capture.VersionError
	switch {
	case errors.As(err, &version):
		return err
	case !s.begun && line.Head == nil:
		return ErrNoCapture
	case err != nil && l.isWhole:
		s.found("damaged_line", fmt.Sprintf("line %d is damaged and was skipped: %v", l.number, err))
		// Behind where a recorder was killed another one's line may go on. In a string its
		// beginning would be escaped.
		if i := bytes.LastIndex(l.raw, []byte(capture.MarkPrefix)); i > 0 {
			rest := *l
			rest.raw = l.raw[i:]
			rest.at += int64(i)
			rest.parse(&capture.Parser{})
			return s.line(&rest)
		}
	case err != nil:
	case line.Head != nil:
		s.begun = true
		c.begin(*line.Head, at)
	case s.maker == nil:
		s.found("damaged_line", fmt.Sprintf("line %d belongs to a run without a header and was skipped", l.number))
	case s.maker.finished:
		return errFinished
	case line.Frame != nil:
		s.frame(line.Frame, l.message, at)
	case line.End != nil:
		s.maker.end(line.End, at)
	case line.Next > 0:
		s.maker.next()
	case line.Carried != nil:
		s.maker.carried()
	case line.Lost > 0:
		s.found(ruleLost, fmt.Sprintf(textLost, l.number, line.Lost))
	}
	return nil
}

const (
	ruleLost = "lost_frames"
	textLost = "line %d: %d frames were omitted from the recording"
)

// Lost is how many frames the recorders left out, by the Findings of a Capture.
func Lost(findings []wire.Finding) (frames int) {
	for _, f := range findings {
		var line, count int
		if f.Rule == ruleLost {
			_, _ = fmt.Sscanf(f.Text, textLost, &line, &count)
			frames += count
		}
	}
	return frames
}

func (s *scanner) frame(f *wire.Frame, m *wire.Message, at span) {
	if f.Kind == wire.Head && f.HTTP == nil { // no Recorder writes one
		f.HTTP = &wire.HTTPHead{}
	}
	s.maker.frame(f, m, at)
}
