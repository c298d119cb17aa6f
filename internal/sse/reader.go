// Package sse reads server-sent events and keeps their bytes.
package sse

import (
	"bytes"
	"io"
	"math"
	"time"

	"mcpc/internal/spool"
)

// An Event is one dispatched server-sent event, or a priming event, which has no data but sets the
// stream's id or its retry time.
type Event struct {
	Facts
	Data []byte
	// HasData is set if the event has a data line, even an empty one.
	HasData bool
	// Dropped are lines that the specification ignores. They help to find errors of a server.
	Dropped []byte
}

// IsEvent reports whether e is an event and not only dropped lines.
func (e Event) IsEvent() bool {
	return e.Dropped == nil || e.HasData || e.IsComment || e.Event != "" || e.ID != nil || e.Retry != nil
}

// IsMessage reports whether the event carries JSON-RPC. Priming events and events of other types do
// not.
func (e Event) IsMessage() bool {
	return e.MayCarryMessage() && len(bytes.TrimSpace(e.Data)) > 0
}

// A Reader parses a text/event-stream (WHATWG HTML, section 9.2): lines end in LF, CRLF or a lone
// CR; one byte order mark is skipped; one space after the colon is dropped; an event without a
// blank line after it is dropped. Events own their data: the buffer is reused only after Release
// was called for all events of a block.
type Reader struct {
	src   io.Reader
	limit int64
	buf   []byte // bytes read and not yet consumed
	start int
	// scanned is the number of bytes after start without a line end, so that a long line is not
	// searched twice.
	scanned int
	err     error
	// skipLF is set after a CR: an LF that follows belongs to the same line end.
	skipLF bool
	// isPastFirstLine is set after the first line, which may have a byte order mark.
	isPastFirstLine bool
	event           Event
	hasField        bool // a field of the current event was seen
	// size is the number of bytes of the current event, for the limit.
	size int
	// eventStart is the offset in buf at which the current event begins. earlierBytes are the bytes
	// of the event in earlier blocks, at most maxEarlierBytes.
	eventStart   int
	earlierBytes []byte
	// unreleased is the number of events of the block that were not released.
	unreleased int
	// Spool is the directory for lines that are too long for memory. If it is "", all lines stay in
	// memory.
	Spool spool.Dir
}

// NewReader returns a Reader for events of at most limit bytes. 0 means no limit.
func NewReader(src io.Reader, limit int64) *Reader {
	return &Reader{src: src, limit: limit}
}

// A TooLargeError is the error of an event over the limit, in bytes.
type TooLargeError struct{ Limit int64 }

func (e TooLargeError) Error() string { return "larger than the limit" }

// Next returns the next event, or io.EOF at the end of the stream. With an error of the stream, the
// event has the bytes after the last blank line in Dropped.
func (r *Reader) Next() (Event, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Event{Dropped: r.takeUnfinished()}, err
		}
		if len(line) > 0 {
			if err := r.addField(line); err != nil {
				return Event{}, err
			}
			continue
		}
		// A blank line ends the event. Blank lines without an event before them are skipped.
		r.size = 0
		r.eventStart = r.start
		r.earlierBytes = r.earlierBytes[:0]
		if r.hasField || r.event.Dropped != nil {
			ev := r.event
			r.event = Event{}
			r.hasField = false
			r.unreleased++
			return ev, nil
		}
	}
}

// Release marks the data of one event of Next as no longer used.
func (r *Reader) Release() { r.unreleased-- }

// addField adds one non-empty line to the current event. It returns a TooLargeError if the event
// exceeds the limit; comments do not count.
func (r *Reader) addField(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	if len(name) == 0 { // a comment
		r.event.IsComment = r.event.IsComment || !r.hasField
		r.hasField = true
		return nil
	}
	// A further data line adds a line end to the data, so that it counts as well.
	if r.event.HasData && string(name) == "data" {
		r.size++
	}
	r.size += len(value)
	if r.limit > 0 && int64(r.size) > r.limit {
		return TooLargeError{r.limit}
	}
	switch string(name) {
	case "data":
		if r.event.HasData {
			r.event.Data = append(append(r.event.Data, '\n'), value...)
		} else { // not copied; the capacity keeps the append above from overwriting the buffer
			r.event.Data = value[:len(value):len(value)]
			r.event.HasData = true
		}
	case "event":
		r.event.Event = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 { // the specification ignores an id with NUL
			id := string(value)
			r.event.ID = &id
		}
	case "retry":
		if d, ok := parseRetry(value); ok {
			r.event.Retry = &d
		}
	default:
		r.size += len(name) + 1
		r.event.Dropped = append(append(r.event.Dropped, line...), '\n')
		return nil
	}
	r.event.IsComment = false
	r.hasField = true
	return nil
}

// takeUnfinished returns the bytes after the last blank line at the end of the stream. It returns nil
// before the end, and for a second call.
func (r *Reader) takeUnfinished() []byte {
	if r.err == nil { // readLine found a line over the limit
		return nil
	}
	rest := r.earlierBytes
	if len(rest) == 0 {
		rest = r.buf[r.eventStart:len(r.buf):len(r.buf)]
	} else if len(rest) < maxEarlierBytes {
		rest = append(rest, r.buf[r.eventStart:]...)
	}
	r.earlierBytes = nil
	r.eventStart = len(r.buf)
	return bytes.TrimLeft(bytes.TrimPrefix(rest, []byte(ByteOrderMark)), "\r\n")
}

// parseRetry parses a retry field, which has ASCII digits only. It returns at most one year, and
// reports false if the field is invalid.
func parseRetry(digits []byte) (time.Duration, bool) {
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

// readLine returns the next line without its line end. It returns a TooLargeError if the line exceeds
// the limit.
func (r *Reader) readLine() ([]byte, error) {
	for {
		if line, ok := r.bufferedLine(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if r.limit > 0 && int64(len(r.buf)-r.start) > r.limit+maxFieldName {
			return nil, TooLargeError{r.limit}
		}
		r.fill()
	}
}

// maxFieldName is how much longer than the limit of an event a line may be: the name of its field does
// not count. No field that is used has a longer name.
const maxFieldName = 64

// bufferedLine returns the next complete line in the buffer, and reports whether there is one.
func (r *Reader) bufferedLine() ([]byte, bool) {
	if r.skipLF && r.start < len(r.buf) {
		if r.buf[r.start] == '\n' {
			r.start++
		}
		r.skipLF = false
	}
	i := indexLineEnd(r.buf[r.start+r.scanned:])
	if i < 0 {
		r.scanned = len(r.buf) - r.start
		return nil, false
	}
	end := r.start + r.scanned + i
	line := r.buf[r.start:end]
	r.skipLF = r.buf[end] == '\r'
	r.start = end + 1
	r.scanned = 0
	if !r.isPastFirstLine {
		line = bytes.TrimPrefix(line, []byte(ByteOrderMark))
		r.isPastFirstLine = true
	}
	return line, true
}

// A block of the buffer has eventBlock bytes and contains many short events. The first block has
// firstBlock bytes, because most streams have one event. fill reads into a block with at least
// eventRoom free bytes. maxEarlierBytes bounds the bytes that are kept of an event, because comments
// may continue forever.
const (
	firstBlock      = 4 << 10
	eventBlock      = 64 << 10
	eventRoom       = 16 << 10
	maxEarlierBytes = 1 << 20
)

// fill reads more bytes. It starts a new block if the old one is full, or is larger than needed after
// a large event.
func (r *Reader) fill() {
	rest := r.buf[r.start:]
	isFull := cap(r.buf)-len(r.buf) < min(eventRoom, cap(r.buf)/4)
	isTooLarge := cap(r.buf) > eventBlock && len(rest) < eventRoom
	if r.buf == nil {
		r.buf = make([]byte, 0, firstBlock)
	} else if isFull || isTooLarge {
		r.keepEarlierBytes()
		if len(rest) > spool.Memory && r.Spool != "" {
			r.fillSpool(rest) // it reads, too
			return
		}
		r.startBlock(rest)
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	r.err = err
}

// keepEarlierBytes keeps the lines of the current event that are about to leave the buffer, for
// takeUnfinished.
func (r *Reader) keepEarlierBytes() {
	room := maxEarlierBytes - len(r.earlierBytes)
	r.earlierBytes = append(r.earlierBytes, r.buf[r.eventStart:min(r.start, r.eventStart+room)]...)
}

// startBlock makes a block that begins with rest, the bytes not yet consumed, the buffer. It uses
// the old block again only if no event refers to it: neither an event that was returned and not
// released, nor the current event by its data.
func (r *Reader) startBlock(rest []byte) {
	block := r.buf[:0]
	size := r.blockSize(len(rest))
	isInUse := r.unreleased > 0 || r.event.HasData
	if isInUse || cap(block) != size {
		block = make([]byte, 0, size)
	}
	r.buf = append(block, rest...)
	r.start = 0
	r.eventStart = 0
	r.unreleased = 0
}

// fillSpool reads the rest of a long line, which begins with rest, into a file, and makes the file's
// bytes the buffer. After an error of the file the buffer is empty and r.err is set.
func (r *Reader) fillSpool(rest []byte) {
	line := r.Spool.New(int64(len(rest)))
	from := &lineReader{r: r, remaining: math.MaxInt64}
	if r.limit > 0 {
		from.remaining = r.limit + maxFieldName - int64(len(rest))
	}
	_, err := line.Write(rest)
	if err == nil {
		_, err = line.ReadFrom(from)
	}
	if err == nil {
		r.buf, err = line.Bytes()
	}
	r.start = 0
	r.eventStart = 0
	r.unreleased = 1                     // not 0, so that fill does not use the block of the file again
	r.scanned = len(rest) + from.earlier // only the last piece can have a line end
	if err != nil {
		line.Close()
		r.buf = nil
		r.scanned = 0
		r.err = err
	}
}

// A lineReader reads up to and including the first piece with a line end, or until the line is too
// long.
type lineReader struct {
	r *Reader
	// remaining is the number of bytes until the line is too long.
	remaining int64
	// last is the size of the last piece, earlier the number of bytes before it.
	earlier, last int
	hasLineEnd    bool
}

// Read reads one piece from the source of the Reader. It returns io.EOF after the line, also for an
// error of the source, which it stores in the Reader.
func (l *lineReader) Read(p []byte) (n int, err error) {
	if l.hasLineEnd || l.r.err != nil || l.remaining < 0 {
		return 0, io.EOF // the reader returns its own error later
	}
	n, l.r.err = l.r.src.Read(p)
	l.earlier += l.last
	l.last = n
	l.remaining -= int64(n)
	l.hasLineEnd = indexLineEnd(p[:n]) >= 0
	return n, nil
}

// blockSize returns the size of the next block for a partial event of rest bytes. Sizes grow in large
// steps, since every copy becomes garbage, and unused memory costs nothing. A line that may be
// spooled gets no more than the limit for memory.
func (r *Reader) blockSize(rest int) int {
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

// indexLineEnd returns the index of the first CR or LF, or -1. Two searches for one byte are many times
// faster than one search for two bytes. They proceed in steps, since lines may be short.
func indexLineEnd(b []byte) int {
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

// Facts are the fields of a server-sent event except its data (WHATWG HTML, section 9.2).
type Facts struct {
	Event string
	// ID is the event's own id field, or nil.
	ID *string
	// Retry is the reconnection time that the event sets, or nil.
	Retry *time.Duration
	// IsComment is set if the event consists of comment lines only.
	IsComment bool
}

// MayCarryMessage reports whether the data of an event can be a message. Comments and events of other types
// never carry messages (WHATWG HTML, section 9.2.6).
func (s *Facts) MayCarryMessage() bool {
	return s == nil || !s.IsComment && (s.Event == "" || s.Event == "message")
}

// ByteOrderMark must not precede JSON, but a receiver may ignore it (RFC 8259, section 8.1).
const ByteOrderMark = "\xEF\xBB\xBF"
