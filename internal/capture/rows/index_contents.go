package rows

import (
	"encoding/json"
	"math"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// contents are all that was learned of a capture but its rows, of which it has where their pages
// are, and not what is needed to learn more of its runs: they end there.
func (c *codec) contents(capture *Capture, pages []*page) {
	num(c, &capture.progress.offset)
	num(c, &capture.progress.line)
	c.flags(&capture.progress.torn)
	c.findings(&capture.findings)
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

// mostPage is how many bytes a page may have: names and texts of its rows may be long.
const maxPageBytes = 1 << 30

// runs are the runs without what they need to go on.
func (c *codec) runs(capture *Capture) {
	n := c.listLength(len(capture.Heads), 8)
	for i := range n {
		var head []byte
		var maker rowMaker
		var at, end span
		var over, marked, ended bool
		if c.writing {
			head, _ = json.Marshal(capture.Heads[i])
			at = capture.headSpans[i]
			over = capture.closedRuns[i]
			end = capture.endSpans[i]
			ended = capture.RunEnded(i)
			marked = capture.marked[capture.Heads[i].In] != nil && capture.marked[capture.Heads[i].In].headIndex == i
			maker.repeating = capture.newest.headIndex == i && capture.newest.repeating
		}
		c.bytes(&head)
		c.span(&at)
		c.span(&end)
		c.flags(&over, &marked, &ended, &maker.repeating)
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
		capture.Heads, capture.headSpans, capture.closedRuns = append(capture.Heads, maker.head), append(capture.headSpans, at), append(capture.closedRuns, over)
		capture.noteRepeated()
		if ended {
			capture.endSpans[i] = end
		}
		if marked {
			capture.marked[maker.head.In] = &maker
		}
		capture.newest = &maker
	}
}

// conns are the conversations.
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
		for _, s := range []*string{&conn.Client.Name, &conn.Client.Version, &conn.Server.Name, &conn.Server.Version, &conn.Session} {
			c.text(s)
		}
	}
}

// A packing is the memory in which pages are packed one after the other.
type packing struct {
	codec codec
	// sample is that of a row, samples are all of a page, numbered, and own is what is a row's own.
	sample, samples, ownValues []byte
	numbers                    map[string]int
}

func (s *packing) reset() {
	if s.numbers == nil {
		s.numbers = map[string]int{}
		s.codec.textNumbers = map[string]uint64{}
	}
	clear(s.numbers)
	s.codec.reset()
	s.samples, s.ownValues = s.samples[:0], s.ownValues[:0]
}

// pack packs the rows of a page: what of each is its own, by samples of the rest.
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
	p.rows, p.from = nil, max(p.from, 0)
	s.storePacked(p, c.pack())
}

// samples reads the samples with which a page begins.
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

// leastSample is about how many bytes a sample has at least.
const minSampleBytes = 18

// decode reads the rows of a page that is packed. In an index that is not as it was written
// there may be wrong ones.
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
		r.nth, r.Index = p.first+i, p.first+i+r.Index
		if packed == nil { // the recording and its index were deleted or replaced
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

// sample is what many rows have alike.
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
		r.capture, r.Run, r.Index = capture, capture.Heads[r.head].Run, indexOffset
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
	for _, s := range []*string{&r.Target, &r.Method, &r.Name, &r.Channel, &r.Revision, &r.Era, &r.By, &r.Again, &r.Text, &r.Hint, &r.ForeignType} {
		c.text(s)
	}
	num(c, &r.Exit)
	num(c, &r.Code)
	num(c, &r.Conn)
	num(c, &r.Status)
	num(c, &r.Kinds)
	if noted {
		n := &r.Notes
		for _, number := range []*int{&n.Notifications, &n.Questions, &n.Guessed, &n.Retries, &n.Resumed, &n.Rounds, &n.Cuts} {
			num(c, number)
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

// own is what each row has for itself.
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

// relations are the other rows that a row names. As long as not all rows are unpacked, they
// are only as much of those as names them.
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

func (c *codec) relatedRow(r **Row, s *rowStore) {
	if !c.writing {
		*r = &Row{capture: s.owner}
	}
	other := *r
	c.numberUpTo(&other.nth, s.count-1)
	num(c, &other.Index)
	c.numberUpTo(&other.head, len(s.owner.Heads)-1)
	if c.err == nil {
		other.Run, other.By = s.owner.Heads[other.head].Run, s.owner.Heads[other.head].By
	}
}
