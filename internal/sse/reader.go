// Package sse reads server-sent events and keeps their bytes.
package sse

import (
	"bytes"
	"io"
	"math"
	"time"

	"mcpc/internal/spool"
)

// A Event is one dispatched server-sent event, or a priming event: one that
// has no data and still sets the stream's id or its retry time.
type Event struct {
	Facts
	Data []byte
	// HasData tells `data:` with nothing behind it from no data line at all.
	HasData bool
	// Dropped are lines among those of the event that belong to none: the rules ignore
	// them, but they help to find a server's fault.
	Dropped []byte
}

// IsEvent tells an event from dropped lines with nothing beside them.
func (e Event) IsEvent() bool {
	return e.Dropped == nil || e.HasData || e.Comment || e.Event != "" || e.ID != nil || e.Retry != nil
}

// IsMessage tells an event that carries JSON-RPC from priming events and from
// events of other types.
func (e Event) IsMessage() bool {
	return e.MayCarry() && len(bytes.TrimSpace(e.Data)) > 0
}

// A Reader takes a text/event-stream apart as WHATWG HTML, section 9.2
// says: lines end in LF, CRLF or a lone CR; one byte order mark is skipped; one
// space behind the colon is dropped; an event that no blank line ends is
// dropped. Its events own their data: what was read is never written over, unless
// Release says that all events of a block are done with.
type Reader struct {
	src   io.Reader
	limit int64
	buf   []byte // bytes read and not yet consumed
	start int
	// scanned is how far behind start no line end was found, so that a long
	// line is not searched again from its beginning.
	scanned int
	err     error
	// skipLF is set behind a CR: if LF comes next it belongs to that line end.
	skipLF bool
	began  bool
	ev     Event
	seen   bool // a field of the current event was seen
	size   int
	// from is where in buf the current event begins; past is what of it stood in
	// the blocks before, or the beginning of that.
	from int
	past []byte
	// held counts the events of the block that were not released.
	held int
	// Spool is where a line that is too long for memory is kept, until the process ends.
	Spool spool.Dir
}

// NewReader reads events of at most limit bytes; 0 is no limit.
func NewReader(src io.Reader, limit int64) *Reader {
	return &Reader{src: src, limit: limit}
}

// A TooLargeError reports an event over the limit, in bytes.
type TooLargeError struct{ Limit int64 }

func (e TooLargeError) Error() string { return "larger than the limit" }

// Next gives the next event. At the end of the stream it gives io.EOF, and with any
// error of the stream what no blank line ended, all of it dropped.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.line()
		if err != nil {
			return Event{Dropped: r.rest()}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		r.size, r.from, r.past = 0, r.start, r.past[:0]
		if r.seen || r.ev.Dropped != nil {
			ev := r.ev
			r.ev = Event{}
			r.seen = false
			r.held++
			return ev, nil
		}
	}
}

// Release says that the data of the event that Next gave last is not used any more.
func (r *Reader) Release() { r.held-- }

// field reads one non-empty line into the event being built.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	if len(name) == 0 {
		r.ev.Comment = r.ev.Comment || !r.seen
		r.seen = true
		return nil
	}
	// A further data line adds a line end to the data, so that it counts as well.
	if r.ev.HasData && string(name) == "data" {
		r.size++
	}
	r.size += len(value)
	if r.limit > 0 && int64(r.size) > r.limit {
		return TooLargeError{r.limit}
	}
	switch string(name) {
	case "data":
		if r.ev.HasData {
			r.ev.Data = append(append(r.ev.Data, '\n'), value...)
		} else {
			r.ev.Data = value[:len(value):len(value)]
			r.ev.HasData = true
		}
	case "event":
		r.ev.Event = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			id := string(value)
			r.ev.ID = &id
		}
	case "retry":
		if d, ok := milliseconds(value); ok {
			r.ev.Retry = &d
		}
	default:
		r.size += len(name) + 1
		r.ev.Dropped = append(append(r.ev.Dropped, line...), '\n')
		return nil
	}
	r.ev.Comment = false
	r.seen = true
	return nil
}

// rest is what came behind the last blank line, once the stream has ended.
func (r *Reader) rest() []byte {
	if r.err == nil {
		return nil
	}
	rest := r.past
	if len(rest) == 0 {
		rest = r.buf[r.from:len(r.buf):len(r.buf)]
	} else if len(rest) < mostPast {
		rest = append(rest, r.buf[r.from:]...)
	}
	r.past, r.from = nil, len(r.buf)
	return bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(ByteOrderMark)), "\r\n")
}

// milliseconds reads a retry field: ASCII digits only. More than a year is a
// year.
func milliseconds(digits []byte) (time.Duration, bool) {
	const year = 365 * 24 * time.Hour
	var d time.Duration
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		d = min(d*10+time.Duration(c-'0')*time.Millisecond, year)
	}
	return d, len(digits) > 0
}

// line gives the next line without its end.
func (r *Reader) line() ([]byte, error) {
	for {
		if line, ok := r.buffered(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if r.limit > 0 && int64(len(r.buf)-r.start) > r.limit+64 {
			return nil, TooLargeError{r.limit}
		}
		r.fill()
	}
}

// buffered takes a whole line out of the buffer, if there is one.
func (r *Reader) buffered() ([]byte, bool) {
	if r.skipLF && r.start < len(r.buf) {
		if r.buf[r.start] == '\n' {
			r.start++
		}
		r.skipLF = false
	}
	i := lineEnd(r.buf[r.start+r.scanned:])
	if i < 0 {
		r.scanned = len(r.buf) - r.start
		return nil, false
	}
	end := r.start + r.scanned + i
	line := r.buf[r.start:end]
	r.skipLF = r.buf[end] == '\r'
	r.start = end + 1
	r.scanned = 0
	if !r.began {
		line = bytes.TrimPrefix(line, []byte(ByteOrderMark))
		r.began = true
	}
	return line, true
}

// Sizes of the buffer: a block of it holds many short events, and is read into where it has room for a fair
// piece. The first is smaller: most streams have one event. Comments may go on for ever, so that no more than
// mostPast is kept of lines that may have to be shown as dropped.
const (
	firstBlock = 4 << 10
	eventBlock = 64 << 10
	eventRoom  = 16 << 10
	mostPast   = 1 << 20
)

// fill reads more. It begins a new block where the old one is full, or was made
// for a large event that is gone.
func (r *Reader) fill() {
	rest := r.buf[r.start:]
	if r.buf == nil {
		r.buf = make([]byte, 0, firstBlock)
	} else if cap(r.buf)-len(r.buf) < min(eventRoom, cap(r.buf)/4) || cap(r.buf) > eventBlock && len(rest) < eventRoom {
		r.past = append(r.past, r.buf[r.from:min(r.start, r.from+mostPast-len(r.past))]...)
		if len(rest) > spool.Memory && r.Spool != "" {
			r.fillSpool(rest)
			return
		}
		block := r.buf[:0]
		if size := r.blockFor(len(rest)); r.held > 0 || r.ev.HasData || cap(block) != size {
			block = make([]byte, 0, size)
		}
		r.buf = append(block, rest...)
		r.start = 0
		r.from = 0
		r.held = 0
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	r.err = err
}

// fillSpool reads to the end of a long line, which begins with rest, into a file.
func (r *Reader) fillSpool(rest []byte) {
	line := r.Spool.New(int64(len(rest)))
	from := &lineReader{r: r, left: math.MaxInt64}
	if r.limit > 0 {
		from.left = r.limit + 64 - int64(len(rest))
	}
	_, err := line.Write(rest)
	if err == nil {
		_, err = line.ReadFrom(from)
	}
	if err == nil {
		r.buf, err = line.Bytes()
	}
	r.start, r.from, r.held, r.scanned = 0, 0, 1, len(rest)+from.passed // a block in a file is not used again
	if err != nil {
		line.Close()
		r.buf = nil
		r.scanned = 0
		r.err = err
	}
}

// A lineReader reads on to the first piece with a line end, or where the line is too long.
type lineReader struct {
	r    *Reader
	left int64
	// passed is how much was read before the last piece.
	passed, last int
	ended        bool
}

func (l *lineReader) Read(p []byte) (n int, err error) {
	if l.ended || l.r.err != nil || l.left < 0 {
		return 0, io.EOF // the reader returns its own error later
	}
	n, l.r.err = l.r.src.Read(p)
	l.passed += l.last
	l.last = n
	l.left -= int64(n)
	l.ended = lineEnd(p[:n]) >= 0
	return n, nil
}

// blockFor grows in large steps: what is copied on the way to a large event
// stays behind as garbage, and what is not written to takes no memory. A line that may go to a file
// gets no more than stays in memory.
func (r *Reader) blockFor(rest int) int {
	if rest < eventRoom {
		return eventBlock
	}
	size := 8*rest + eventBlock
	if r.Spool != "" {
		size = min(size, spool.Memory+eventRoom)
	}
	if r.limit > 0 {
		size = min(size, int(r.limit)+2*eventBlock)
	}
	return max(size, rest+2*eventRoom)
}

// lineEnd gives the place of the first CR or LF, or -1. Two searches for one byte
// are many times faster than one for two, but each must not run far ahead of the
// other: lines may be short.
func lineEnd(b []byte) int {
	const far = 4 << 10
	for at := 0; at < len(b); at += far {
		near := b[at:min(at+far, len(b))]
		lf := bytes.IndexByte(near, '\n')
		if lf >= 0 {
			near = near[:lf]
		}
		if cr := bytes.IndexByte(near, '\r'); cr >= 0 {
			return at + cr
		}
		if lf >= 0 {
			return at + lf
		}
	}
	return -1
}

// Facts are the fields of a server-sent event beside its data (WHATWG HTML,
// section 9.2).
type Facts struct {
	Event string
	// ID is the event's own id field; nil where it had none.
	ID *string
	// Retry is the reconnection time the event asks for; nil where it had none.
	Retry *time.Duration
	// Comment is set when the event was nothing but comment lines.
	Comment bool
}

// MayCarry tells an event whose data is a message from comments and from events of
// other types, which no client reads as one (WHATWG HTML, section 9.2.6).
func (s *Facts) MayCarry() bool {
	return s == nil || !s.Comment && (s.Event == "" || s.Event == "message")
}

// ByteOrderMark does not belong before JSON, and a receiver may ignore it (RFC
// 8259, section 8.1).
const ByteOrderMark = "\xEF\xBB\xBF"
