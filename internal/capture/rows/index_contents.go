package rows

import (
	"encoding/json"
	"math"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// codeContents writes or reads the values of a capture, with the places of its pages but without
// the rows in them. pages are the pages to write, or nil if c reads. The runs that it reads are
// finished: no frames can be added to them.
func (c *codec) codeContents(capture *Capture, pages []*page) {
	codeNumber(c, &capture.progress.offset)
	codeNumber(c, &capture.progress.line)
	c.codeFlags(&capture.progress.torn)
	c.codeFindings(&capture.findings)
	codeNumber(c, &capture.lost)
	c.codeRuns(capture)
	c.codeConns(capture)
	codeNumber(c, &capture.count)
	n := c.codeLength(len(pages), minPlaceBytes)
	if !c.writing {
		if capture.count < 0 || n != (capture.count+pageRows-1)/pageRows {
			c.fail()
			return
		}
		for i := range n {
			pages = append(pages, &page{firstRow: i * pageRows})
		}
		capture.pages = pages
	}
	for _, p := range pages {
		codeNumber(c, &p.linesStart)
		codeNumber(c, &p.linesEnd)
		codeNumber(c, &p.offset)
		c.codeNumberUpTo(&p.length, maxPageBytes)
		codeNumber(c, &p.checksum)
		for _, m := range []*measures{&p.lowest, &p.highest} {
			codeNumber(c, &m.time)
			codeNumber(c, &m.duration)
			codeNumber(c, &m.first)
			codeNumber(c, &m.size)
		}
	}
}

// The smallest sizes in bytes of encoded elements.
const (
	minPlaceBytes   = 13 // of a page
	minRunBytes     = 8
	minConnBytes    = 5
	minSampleBytes  = 18
	minFindingBytes = 6
	minRelatedBytes = 3
)

// maxPageBytes bounds a packed page. Its rows may have long names and texts.
const maxPageBytes = 1 << 30

// codeRuns writes or reads the runs of a capture.
func (c *codec) codeRuns(capture *Capture) {
	n := c.codeLength(len(capture.Heads), minRunBytes)
	for i := range n {
		var head []byte
		var maker rowMaker
		var at, end span
		var isClosed, isMarked, hasEnd bool
		if c.writing {
			head, _ = json.Marshal(capture.Heads[i])
			at = capture.headSpans[i]
			isClosed = capture.closedRuns[i]
			end = capture.endSpans[i]
			hasEnd = capture.RunEnded(i)
			// Of runs with the same mark, lines belong to the last one.
			marked := capture.makersByMark[capture.Heads[i].Mark]
			isMarked = marked != nil && marked.headIndex == i
			maker.inRepeatedLines = capture.newestMaker.headIndex == i && capture.newestMaker.inRepeatedLines
		}
		c.codeBytes(&head)
		c.codeSpan(&at)
		c.codeSpan(&end)
		c.codeFlags(&isClosed, &isMarked, &hasEnd, &maker.inRepeatedLines)
		if c.writing {
			continue
		}
		if json.Unmarshal(head, &maker.head) != nil {
			c.fail()
			return
		}
		maker.capture = capture
		maker.headIndex = i
		maker.isFrozen = true // its state is not in the index
		capture.Heads = append(capture.Heads, maker.head)
		capture.headSpans = append(capture.headSpans, at)
		capture.closedRuns = append(capture.closedRuns, isClosed)
		capture.noteRepeated()
		if hasEnd {
			capture.endSpans[i] = end
		}
		if isMarked {
			capture.makersByMark[maker.head.Mark] = &maker
		}
		capture.newestMaker = &maker
	}
}

// codeConns writes or reads the conversations of a capture.
func (c *codec) codeConns(capture *Capture) {
	n := c.codeLength(len(capture.conns), minConnBytes)
	if !c.writing {
		capture.conns = make([]*conn, n)
	}
	for i := range capture.conns {
		if !c.writing {
			capture.conns[i] = &conn{number: i + 1}
		}
		conn := capture.conns[i]
		c.codeText(&conn.Client.Name)
		c.codeText(&conn.Client.Version)
		c.codeText(&conn.Server.Name)
		c.codeText(&conn.Server.Version)
		c.codeText(&conn.Session)
	}
}

// A packing is the memory that pages are packed in, one after the other.
type packing struct {
	codec codec
	// sample is the encoded sample of the current row.
	sample []byte
	// samples are the encoded samples of the page.
	samples []byte
	// ownValues are the encoded own values of the rows; see codeOwnValues.
	ownValues []byte
	// numbers has the number of each encoded sample.
	numbers map[string]int
}

// reset empties the memory for the next page.
func (s *packing) reset() {
	if s.numbers == nil {
		s.numbers = map[string]int{}
		s.codec.textNumbers = map[string]uint64{}
	}
	clear(s.numbers)
	s.codec.reset()
	s.samples = s.samples[:0]
	s.ownValues = s.ownValues[:0]
}

// packPage packs the rows of a page: first the samples, which are the different combinations of the
// values that rows share, then for each row the number of its sample and its own values. It also
// updates the bounds and the line range of the page. Pointers to the rows become invalid.
func (s *rowStore) packPage(p *page) {
	s.packing.reset()
	memory := &s.packing
	c := &s.packing.codec
	// c.body is set to the memory of each part in turn, as the code methods append to it.
	body := c.body
	p.linesStart = -1
	p.linesEnd = 0
	p.lowest = measures{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	p.highest = measures{math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}
	for _, r := range p.rows {
		p.measure(r)
		c.body = memory.sample[:0]
		c.textPosition = 0
		c.codeSharedValues(r, s)
		memory.sample = c.body
		number, there := memory.numbers[string(memory.sample)]
		if !there {
			number = len(memory.numbers)
			memory.numbers[string(memory.sample)] = number
			memory.samples = append(memory.samples, memory.sample...)
		}
		c.body = memory.ownValues
		codeNumber(c, &number)
		c.codeOwnValues(r, s)
		memory.ownValues = c.body
		for l := range r.lines.all() {
			p.linesEnd = max(p.linesEnd, l.offset+int64(l.length))
			if p.linesStart < 0 || l.offset < p.linesStart {
				p.linesStart = l.offset
			}
		}
	}
	c.body = body
	number := len(memory.numbers)
	codeNumber(c, &number)
	c.body = append(append(c.body, memory.samples...), memory.ownValues...)
	p.rows = nil
	p.linesStart = max(p.linesStart, 0)
	s.storePacked(p, c.pack())
}

// readSamples reads the samples at the beginning of a page.
func (c *codec) readSamples(s *rowStore) []Row {
	samples := make([]Row, c.codeLength(0, minSampleBytes)) // a reader ignores the 0
	for i := range samples {
		c.codeSharedValues(&samples[i], s)
		if secrets := s.owner.secrets; secrets != nil {
			samples[i].hideTexts(secrets, secrets.Text)
		}
	}
	return samples
}

// decodePage decodes the rows of a packed page into memory, and returns their number. A damaged
// page has rows with wrong values. If the page is lost, its rows are marked as listed elsewhere, so
// that no list has them.
func (s *rowStore) decodePage(p *page, block []Row) int {
	packed := s.loadPacked(p)
	c := unpack(packed)
	samples := c.readSamples(s)
	if len(samples) == 0 {
		c.fail()
		samples = []Row{{capture: s.owner, State: exchange.State{Exit: -1}, ListedElsewhere: true}}
	}
	n := min(pageRows, s.count-p.firstRow)
	for i := range block[:n] {
		r := &block[i]
		sample := 0
		c.codeNumberUpTo(&sample, len(samples)-1)
		*r = samples[sample]
		r.fileIndex = p.firstRow + i
		r.Index += r.fileIndex // the sample has the difference
		if packed == nil {     // both the recording and its index were deleted or replaced
			r.ListedElsewhere = true
			continue
		}
		// Rows share the memory of their sample: appending must copy, and Cancel is copied now.
		r.Notified = slices.Clip(r.Notified)
		r.Findings = slices.Clip(r.Findings)
		if r.Cancel != nil {
			own := *r.Cancel
			r.Cancel = &own
		}
		c.codeOwnValues(r, s)
		if r.ID != "" && s.owner.secrets != nil {
			r.ID = s.owner.secrets.Text(r.ID)
		}
	}
	return n
}

// codeSharedValues writes or reads the values of a row that many rows share: its sample.
func (c *codec) codeSharedValues(r *Row, s *rowStore) {
	capture := s.owner
	c.codeNumberUpTo(&r.headIndex, len(capture.Heads)-1)
	if c.err != nil {
		return
	}
	conn := 0
	// In a run without gaps Index and fileIndex grow in step: rows share their difference.
	indexOffset := r.Index - r.fileIndex
	if c.writing && r.conn != nil {
		conn = r.conn.number
	}
	c.codeNumberUpTo(&conn, len(s.conns))
	codeNumber(c, &indexOffset)
	if !c.writing {
		r.capture = capture
		r.Run = capture.Heads[r.headIndex].Run
		r.Index = indexOffset
		if conn > 0 {
			r.conn = s.conns[conn-1]
		}
	}
	// A flag says whether a value or a list follows, so that usual rows are short.
	received := r.Dir == wire.Received
	noted := r.Notes != exchange.Notes{}
	cancelled := r.Cancel != nil
	found := len(r.Findings) > 0
	held := r.Held > 0 || r.Waiting > 0
	notified := len(r.Notified) > 0
	c.codeFlags(&received, &noted, &cancelled, &found, &r.ListedElsewhere, &r.IsMain, &r.IsSeparate, &r.IsGuess,
		&r.CancelledEarlier, &r.Orphan, &r.IsHTTPOnly, &r.Unanswered, &r.Reported, &r.WrongID, &r.Resumable, &held,
		&r.Edited, &r.Streamed, &notified)
	if received {
		r.Dir = wire.Received
	}
	for _, text := range []*string{
		&r.Target, &r.Method, &r.Name, &r.Channel, &r.Revision, &r.Era, &r.By, &r.ReplayOf, &r.Text, &r.Hint, &r.ForeignType,
	} {
		c.codeText(text)
	}
	codeNumber(c, &r.Exit)
	codeNumber(c, &r.Code)
	codeNumber(c, &r.Conn)
	codeNumber(c, &r.Status)
	codeNumber(c, &r.Kinds)
	if noted {
		n := &r.Notes
		for _, count := range []*int{
			&n.Notifications, &n.Questions, &n.Guessed, &n.Retries, &n.Resumed, &n.Rounds, &n.Cuts,
		} {
			codeNumber(c, count)
		}
	}
	if notified {
		c.codeNotified(r)
	}
	if cancelled {
		c.codeCancel(r)
	}
	if held {
		codeNumber(c, &r.Held)
		codeNumber(c, &r.Waiting)
	}
	if found {
		c.codeFindings(&r.Findings)
	}
}

// codeNotified writes or reads the methods of a row's notifications.
func (c *codec) codeNotified(r *Row) {
	n := len(r.Notified)
	c.codeNumberUpTo(&n, exchange.MaxNotified)
	if !c.writing {
		r.Notified = make([]string, n)
	}
	for i := range r.Notified {
		c.codeText(&r.Notified[i])
	}
}

// codeOwnValues writes or reads the values that differ in each row.
func (c *codec) codeOwnValues(r *Row, s *rowStore) {
	c.codeTime(&r.Time)
	c.codeUniqueText(&r.ID)
	codeNumber(c, &r.Duration)
	codeNumber(c, &r.TimeToFirst)
	codeNumber(c, &r.Sent)
	codeNumber(c, &r.Received)
	codeNumber(c, &r.LastSent)
	c.codeBytes((*[]byte)(&r.lines))
	c.codeRelations(r, s)
}

// codeCancel writes or reads the cancellation of a row.
func (c *codec) codeCancel(r *Row) {
	if r.Cancel == nil {
		r.Cancel = &exchange.Cancel{} // when reading
	}
	byServer := r.Cancel.By == wire.Received
	c.codeFlags(&byServer, &r.Cancel.IsLate, &r.Cancel.ByClosedStream)
	if byServer {
		r.Cancel.By = wire.Received
	}
	c.codeText(&r.Cancel.Why)
	codeNumber(c, &r.Cancel.After)
}

// codeRelations writes or reads the rows that a row refers to. A reader gets only the fields for their
// numbers; Rows replaces them by the rows themselves.
func (c *codec) codeRelations(r *Row, s *rowStore) {
	related := r.Within != nil || r.SameAs != nil || r.Guesses != nil
	c.codeFlags(&related)
	if !related || c.err != nil {
		return
	}
	// Few rows have relations: one flag for all of them keeps the others short.
	within := r.Within != nil
	same := r.SameAs != nil
	c.codeFlags(&within, &same)
	if within {
		c.codeRelatedRow(&r.Within, s)
	}
	if same {
		c.codeRelatedRow(&r.SameAs, s)
	}
	if n := c.codeLength(len(r.Guesses), minRelatedBytes); !c.writing && n > 0 {
		r.Guesses = make([]*Row, n)
	}
	for i := range r.Guesses {
		c.codeRelatedRow(&r.Guesses[i], s)
	}
}

// codeRelatedRow writes or reads a row that another row refers to: what its Number needs. A reader
// gets another *Row than the one in the store.
func (c *codec) codeRelatedRow(r **Row, s *rowStore) {
	if !c.writing {
		*r = &Row{capture: s.owner}
	}
	other := *r
	c.codeNumberUpTo(&other.fileIndex, s.count-1)
	codeNumber(c, &other.Index)
	c.codeNumberUpTo(&other.headIndex, len(s.owner.Heads)-1)
	if c.err == nil {
		head := &s.owner.Heads[other.headIndex]
		other.Run = head.Run
		other.By = head.By
	}
}
