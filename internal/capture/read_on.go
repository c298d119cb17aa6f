package capture

import (
	"encoding/json"
	"errors"
	"io"
	"math"

	"mcpc/internal/wire"
)

// progress is how far a capture was read.
type progress struct {
	// offset is as far as whole lines were read, line how many those were.
	offset int64
	line   int
	torn   bool
	// reading is what reads on in steps; nil between two readings.
	reading *reading
	// ended are runs that ended and are not finished, endedRows how many exchanges they have. With
	// lasting set runs are not finished.
	ended     []*index
	endedRows int
	lasting   bool
}

// mostEndedRows is how many exchanges are remembered of runs that ended.
const mostEndedRows = 20_000

// finishOld finishes runs that ended before this one: all is read anew if a line of one of them
// follows after all.
func (x *index) finishOld() {
	c := x.capture
	if x.head.In == "" || c.lasting {
		return
	}
	c.ended, c.endedRows = append(c.ended, x), c.endedRows+len(x.exchanges)
	for len(c.ended) > 1 && c.endedRows > mostEndedRows {
		old := c.ended[0]
		c.ended, c.endedRows = c.ended[1:], c.endedRows-len(old.exchanges)
		*old = index{capture: c, head: old.head, at: old.at, ownRows: ownRows{rows: old.rows}, repeating: old.repeating, finished: true}
	}
}

// A reading goes through the lines of a capture in steps.
type reading struct {
	file  lines
	lines *lineReader
	scan  scanner
	// batch is what is being listed, and listed how many of its lines were; behind is where the
	// next one begins.
	batch  *batch
	listed int
	behind int64
	// ahead are the batches behind it, free those that can be used again.
	ahead, free []*batch
	// alone is set where the last line of the last batch is a long one, which the reader has,
	// last once there is nothing more to read; skipped are the findings for the next line.
	alone, last bool
	skipped     []wire.Finding
}

// Begin opens a capture of which nothing is read yet: ReadOn does. The error is that of the
// file.
func Begin(path string) (*Capture, error) {
	if _, err := Stat(path); err != nil {
		return nil, err
	}
	return newCapture(path), nil
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
	if c.offset > 0 && !c.unsaid {
		c.Rows() // which stay where they are
		c.changed = map[*Row]bool{}
	}
	c.unsaid = false
	if more, err = c.readOn(most); c.changed == nil {
		return c.Rows(), more, err
	}
	for row := range c.changed {
		changed = append(changed, row)
	}
	return changed, more, err
}

// readOn reads on as ReadOn does.
func (c *Capture) readOn(most int) (more bool, err error) {
	if c.reading == nil {
		if c.reading, err = newReading(c); err != nil {
			return false, err
		}
	}
	if more, err = c.reading.readOn(c, most); !more {
		c.stop()
	}
	if errors.Is(err, errFinished) {
		c.restart()
		return c.readOn(most)
	}
	if !more && err == nil {
		c.writer.write(c)
	}
	return more, err
}

// errFinished is the error of lines that belong to a run that is finished: it was taken from an
// index, or ended a while before.
var errFinished = errors.New("the run goes on")

// restart forgets all that was read: it is read anew, without an index.
func (c *Capture) restart() {
	fresh := newCapture(c.Path)
	c.writer.giveUp(c)
	c.release()
	c.pages, c.count, c.all, c.unpacked, c.conns = nil, 0, nil, nil, nil
	c.Heads, c.findings, c.heads, c.ends, c.over, c.changed = nil, nil, nil, fresh.ends, nil, nil
	c.index, c.marked, c.progress = nil, fresh.marked, progress{lasting: true}
	c.useFilters(nil)
}

func newReading(c *Capture) (*reading, error) {
	f, err := c.from(c.offset)
	if err != nil {
		return nil, err
	}
	r := newLineReader(f)
	r.offset, r.line = c.offset, c.line
	part := &reading{file: f, lines: r, scan: scanner{capture: c, begun: len(c.Heads) > 0}, batch: &batch{}, behind: c.offset}
	r.OnFinding = func(f wire.Finding) { part.skipped = append(part.skipped, f) }
	return part, nil
}

// stop ends the reading.
func (p *progress) stop() {
	if p.reading != nil {
		p.reading.file.Close()
		p.reading = nil
	}
}

func (part *reading) readOn(c *Capture, most int) (more bool, err error) {
	for from := part.behind; part.behind-from < int64(most); {
		if part.listed == len(part.batch.lines) {
			part.free = append(part.free, part.batch)
			part.batch, part.listed = part.next(), 0
		}
		l := &part.batch.lines[part.listed]
		part.listed, part.behind = part.listed+1, l.behind
		c.findings = append(c.findings, l.skipped...)
		if errors.Is(l.err, io.EOF) {
			if c.torn = l.behind > l.at; l.at > c.offset { // what was left out is not read again
				c.offset, c.line = l.at, l.number-1
			}
			return false, nil
		}
		if l.err != nil {
			if noteDamage(c, l.err) {
				return false, nil
			}
			return false, l.err
		}
		// Of a line without its end more may come: what can be read of it would be read
		// a second time with that.
		if c.torn = !l.whole && !json.Valid(l.raw); c.torn {
			return false, part.scan.orNone()
		}
		if err := part.scan.looked(l); err != nil {
			return false, err
		}
		if c.offset, c.line = l.behind, l.number; !l.whole {
			c.line-- // its end is still to come
		}
		c.packOld()
	}
	return true, nil
}
