package rows

import (
	"encoding/json"
	"math"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// contents writes or reads the values of a capture, with the places of its pages but without the
// rows in them. The runs that it reads are finished: no frames can be added to them.
func (c *codec) contents(capture *Capture, pages []*page) {
	num(c, &capture.progress.offset)
	num(c, &capture.progress.line)
	c.flags(&capture.progress.torn)
	c.findings(&capture.findings)
	num(c, &capture.lost)
	c.runs(capture)
	c.conns(capture)
	num(c, &capture.count)
	n := c.listLength(len(pages), 13)
	if !c.writing {
		if capture.count < 0 || n != (capture.count+pageRows-1)/pageRows {
			c.fail()
			return
		}
		for i := range n {
			pages = append(pages, &page{first: i * pageRows})
		}
		capture.pages = pages
	}
	for _, p := range pages {
		num(c, &p.from)
		num(c, &p.to)
		num(c, &p.at)
		c.numberUpTo(&p.length, maxPageBytes)
		num(c, &p.sum)
		for _, m := range []*measures{&p.lowest, &p.highest} {
			num(c, &m.time)
			num(c, &m.duration)
			num(c, &m.first)
			num(c, &m.size)
		}
	}
}

// maxPageBytes bounds a packed page. Its rows may have long names and texts.
const maxPageBytes = 1 << 30

// runs writes or reads the runs of a capture.
func (c *codec) runs(capture *Capture) {
	n := c.listLength(len(capture.Heads), 8)
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
			marked := capture.marked[capture.Heads[i].In]
			isMarked = marked != nil && marked.headIndex == i
			maker.repeating = capture.newest.headIndex == i && capture.newest.repeating
		}
		c.bytes(&head)
		c.span(&at)
		c.span(&end)
		c.flags(&isClosed, &isMarked, &hasEnd, &maker.repeating)
		if c.writing {
			continue
		}
		if json.Unmarshal(head, &maker.head) != nil {
			c.fail()
			return
		}
		maker.capture = capture
		maker.headIndex = i
		maker.finished = true
		capture.Heads = append(capture.Heads, maker.head)
		capture.headSpans = append(capture.headSpans, at)
		capture.closedRuns = append(capture.closedRuns, isClosed)
		capture.noteRepeated()
		if hasEnd {
			capture.endSpans[i] = end
		}
		if isMarked {
			capture.marked[maker.head.In] = &maker
		}
		capture.newest = &maker
	}
}

// conns writes or reads the conversations of a capture.
func (c *codec) conns(capture *Capture) {
	n := c.listLength(len(capture.conns), 5)
	if !c.writing {
		capture.conns = make([]*conn, n)
	}
	for i := range capture.conns {
		if !c.writing {
			capture.conns[i] = &conn{number: i + 1}
		}
		conn := capture.conns[i]
		c.text(&conn.Client.Name)
		c.text(&conn.Client.Version)
		c.text(&conn.Server.Name)
		c.text(&conn.Server.Version)
		c.text(&conn.Session)
	}
}

// A packing is the memory in which pages are packed, one after the other.
type packing struct {
	codec codec
	// sample is the encoded sample of the current row.
	sample []byte
	// samples are the encoded samples of the page.
	samples []byte
	// ownValues are the encoded ownValues of the rows.
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
// values that rows share, then for each row the number of its sample and its own values.
func (s *rowStore) packPage(p *page) {
	s.packing.reset()
	memory := &s.packing
	c := &s.packing.codec
	body := c.body
	p.from = -1
	p.to = 0
	p.lowest = measures{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
	p.highest = measures{math.MinInt64, math.MinInt64, math.MinInt64, math.MinInt64}
	for _, r := range p.rows {
		p.measure(r)
		c.body = memory.sample[:0]
		c.textPosition = 0
		c.sharedValues(r, s)
		memory.sample = c.body
		number, there := memory.numbers[string(memory.sample)]
		if !there {
			number = len(memory.numbers)
			memory.numbers[string(memory.sample)] = number
			memory.samples = append(memory.samples, memory.sample...)
		}
		c.body = memory.ownValues
		num(c, &number)
		c.ownValues(r, s)
		memory.ownValues = c.body
		for l := range r.lines.all() {
			p.to = max(p.to, l.at+int64(l.length))
			if p.from < 0 || l.at < p.from {
				p.from = l.at
			}
		}
	}
	c.body = body
	number := len(memory.numbers)
	num(c, &number)
	c.body = append(append(c.body, memory.samples...), memory.ownValues...)
	p.rows = nil
	p.from = max(p.from, 0)
	s.storePacked(p, c.pack())
}

// samples reads the samples at the beginning of a page.
func (c *codec) samples(s *rowStore) []Row {
	samples := make([]Row, c.listLength(0, minSampleBytes))
	for i := range samples {
		c.sharedValues(&samples[i], s)
		if secrets := s.owner.secrets; secrets != nil {
			samples[i].hideTexts(secrets, secrets.Text)
		}
	}
	return samples
}

// minSampleBytes is the smallest size of an encoded sample.
const minSampleBytes = 18

// decodePage decodes the rows of a packed page into memory, and returns their number. A damaged
// page has rows with wrong values.
func (s *rowStore) decodePage(p *page, into []Row) int {
	packed := s.loadPacked(p)
	c := unpack(packed)
	samples := c.samples(s)
	if len(samples) == 0 {
		c.fail()
		// The index and the recording were deleted: no list has these rows.
		samples = []Row{{capture: s.owner, State: exchange.State{Exit: -1}, Elsewhere: true}}
	}
	n := min(pageRows, s.count-p.first)
	for i := range into[:n] {
		r := &into[i]
		sample := 0
		c.numberUpTo(&sample, len(samples)-1)
		*r = samples[sample]
		r.nth = p.first + i
		r.Index += r.nth   // the sample has the difference
		if packed == nil { // both the recording and its index were deleted or replaced
			r.Elsewhere = true
			continue
		}
		r.Notified = slices.Clip(r.Notified)
		r.Findings = slices.Clip(r.Findings)
		if r.Cancel != nil {
			own := *r.Cancel
			r.Cancel = &own
		}
		c.ownValues(r, s)
		if r.ID != "" && s.owner.secrets != nil {
			r.ID = s.owner.secrets.Text(r.ID)
		}
	}
	return n
}

// sharedValues writes or reads the values of a row that many rows share: its sample.
func (c *codec) sharedValues(r *Row, s *rowStore) {
	capture := s.owner
	c.numberUpTo(&r.head, len(capture.Heads)-1)
	if c.err != nil {
		return
	}
	conn := 0
	indexOffset := r.Index - r.nth
	if c.writing && r.conn != nil {
		conn = r.conn.number
	}
	c.numberUpTo(&conn, len(s.conns))
	num(c, &indexOffset)
	if !c.writing {
		r.capture = capture
		r.Run = capture.Heads[r.head].Run
		r.Index = indexOffset
		if conn > 0 {
			r.conn = s.conns[conn-1]
		}
	}
	received := r.Dir == wire.Received
	noted := r.Notes != exchange.Notes{}
	cancelled := r.Cancel != nil
	found := len(r.Findings) > 0
	held := r.Held > 0 || r.Waiting > 0
	notified := len(r.Notified) > 0
	c.flags(&received, &noted, &cancelled, &found, &r.Elsewhere, &r.Own, &r.Apart, &r.Guess, &r.Repeated, &r.Orphan,
		&r.HTTPOnly, &r.Unanswered, &r.Reported, &r.WrongID, &r.Resumable, &held, &r.Edited, &r.Streamed, &notified)
	if received {
		r.Dir = wire.Received
	}
	for _, text := range []*string{
		&r.Target, &r.Method, &r.Name, &r.Channel, &r.Revision, &r.Era, &r.By, &r.Again, &r.Text, &r.Hint, &r.ForeignType,
	} {
		c.text(text)
	}
	num(c, &r.Exit)
	num(c, &r.Code)
	num(c, &r.Conn)
	num(c, &r.Status)
	num(c, &r.Kinds)
	if noted {
		n := &r.Notes
		for _, count := range []*int{
			&n.Notifications, &n.Questions, &n.Guessed, &n.Retries, &n.Resumed, &n.Rounds, &n.Cuts,
		} {
			num(c, count)
		}
	}
	if notified {
		c.notified(r)
	}
	if cancelled {
		c.cancel(r)
	}
	if held {
		num(c, &r.Held)
		num(c, &r.Waiting)
	}
	if found {
		c.findings(&r.Findings)
	}
}

// notified writes or reads the methods of a row's notifications.
func (c *codec) notified(r *Row) {
	n := len(r.Notified)
	c.numberUpTo(&n, exchange.MaxNotified)
	if !c.writing {
		r.Notified = make([]string, n)
	}
	for i := range r.Notified {
		c.text(&r.Notified[i])
	}
}

// ownValues writes or reads the values that differ in each row.
func (c *codec) ownValues(r *Row, s *rowStore) {
	c.time(&r.Time)
	c.uniqueText(&r.ID)
	num(c, &r.Duration)
	num(c, &r.First)
	num(c, &r.Sent)
	num(c, &r.Received)
	num(c, &r.LastSent)
	c.bytes((*[]byte)(&r.lines))
	c.relations(r, s)
}

// cancel writes or reads the cancellation of a row.
func (c *codec) cancel(r *Row) {
	if r.Cancel == nil {
		r.Cancel = &exchange.Cancel{}
	}
	byServer := r.Cancel.By == wire.Received
	c.flags(&byServer, &r.Cancel.Late, &r.Cancel.Closed)
	if byServer {
		r.Cancel.By = wire.Received
	}
	c.text(&r.Cancel.Why)
	num(c, &r.Cancel.After)
}

// relations writes or reads the rows that a row refers to. A reader gets only the fields for their
// numbers; Rows replaces them by the rows themselves.
func (c *codec) relations(r *Row, s *rowStore) {
	related := r.Within != nil || r.SameAs != nil || r.Guesses != nil
	c.flags(&related)
	if !related || c.err != nil {
		return
	}
	within := r.Within != nil
	same := r.SameAs != nil
	c.flags(&within, &same)
	if within {
		c.relatedRow(&r.Within, s)
	}
	if same {
		c.relatedRow(&r.SameAs, s)
	}
	if n := c.listLength(len(r.Guesses), 3); !c.writing && n > 0 {
		r.Guesses = make([]*Row, n)
	}
	for i := range r.Guesses {
		c.relatedRow(&r.Guesses[i], s)
	}
}

// relatedRow writes or reads a row that another row refers to.
func (c *codec) relatedRow(r **Row, s *rowStore) {
	if !c.writing {
		*r = &Row{capture: s.owner}
	}
	other := *r
	c.numberUpTo(&other.nth, s.count-1)
	num(c, &other.Index)
	c.numberUpTo(&other.head, len(s.owner.Heads)-1)
	if c.err == nil {
		head := &s.owner.Heads[other.head]
		other.Run = head.Run
		other.By = head.By
	}
}
