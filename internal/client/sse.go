package client

import (
	"bytes"
	"io"
	"strings"
	"time"
)

// An event is one dispatched server-sent event, or a priming event: one that
// has no data and still sets the stream's id or its retry time.
type event struct {
	name string
	data []byte
	// hasData tells `data:` with nothing behind it from no data line at all.
	hasData bool
	id      *string
	retry   *time.Duration
	comment bool
}

// An eventReader takes a text/event-stream apart as WHATWG HTML, section 9.2
// says: lines end in LF, CRLF or a lone CR; one byte order mark is skipped; one
// space behind the colon is dropped; an event that no blank line ends is
// discarded. Its events own their data: what was read is never written over.
type eventReader struct {
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
	ev     event
	seen   bool // a field of the current event was seen
	size   int
}

func newEventReader(src io.Reader, limit int64) *eventReader {
	return &eventReader{src: src, limit: limit}
}

// errTooLarge reports an event or message over the limit.
type errTooLarge struct{ limit int64 }

func (e errTooLarge) Error() string { return "larger than the limit" }

// next gives the next event. At the end of the stream it gives io.EOF.
func (r *eventReader) next() (event, error) {
	for {
		line, err := r.line()
		if err != nil {
			return event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return event{}, err
			}
			continue
		}
		r.size = 0
		if r.seen {
			ev := r.ev
			r.ev, r.seen = event{}, false
			return ev, nil
		}
	}
}

// field reads one non-empty line into the event being built.
func (r *eventReader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	if len(name) == 0 {
		r.ev.comment = r.ev.comment || !r.seen
		r.seen = true
		return nil
	}
	// A further data line adds a line end to the data, so that it counts as well.
	if r.ev.hasData && string(name) == "data" {
		r.size++
	}
	if r.size += len(value); r.limit > 0 && int64(r.size) > r.limit {
		return errTooLarge{r.limit}
	}
	switch string(name) {
	case "data":
		r.addData(value)
	case "event":
		r.ev.name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			id := string(value)
			r.ev.id = &id
		}
	case "retry":
		if d, ok := milliseconds(value); ok {
			r.ev.retry = &d
		}
	default:
		return nil
	}
	r.ev.comment, r.seen = false, true
	return nil
}

func (r *eventReader) addData(value []byte) {
	if r.ev.hasData {
		r.ev.data = append(append(r.ev.data, '\n'), value...)
		return
	}
	r.ev.data, r.ev.hasData = value[:len(value):len(value)], true
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
func (r *eventReader) line() ([]byte, error) {
	for {
		if line, ok := r.buffered(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if r.limit > 0 && int64(len(r.buf)-r.start) > r.limit+64 {
			return nil, errTooLarge{r.limit}
		}
		r.fill()
	}
}

// buffered takes a whole line out of the buffer, if there is one.
func (r *eventReader) buffered() ([]byte, bool) {
	if r.skipLF && r.start < len(r.buf) {
		if r.buf[r.start] == '\n' {
			r.start++
		}
		r.skipLF = false
	}
	if !r.began && !r.skipBOM() {
		return nil, false
	}
	i := lineEnd(r.buf[r.start+r.scanned:])
	if i < 0 {
		r.scanned = len(r.buf) - r.start
		return nil, false
	}
	end := r.start + r.scanned + i
	line := r.buf[r.start:end]
	r.skipLF = r.buf[end] == '\r'
	r.start, r.scanned = end+1, 0
	return line, true
}

// skipBOM reports whether the start of the stream is decided: the mark has
// three bytes, which may come in three pieces.
func (r *eventReader) skipBOM() bool {
	const bom = "\xEF\xBB\xBF"
	head := r.buf[r.start:]
	if len(head) < len(bom) && strings.HasPrefix(bom, string(head)) && r.err == nil {
		return false
	}
	if bytes.HasPrefix(head, []byte(bom)) {
		r.start += len(bom)
	}
	r.began = true
	return true
}

// Sizes of the buffer: a block of it holds many short events, and is read into
// where it has room for a fair piece.
const (
	eventBlock = 64 << 10
	eventRoom  = 16 << 10
)

// fill reads more. It begins a new block where the old one is full, or was made
// for a large event that is gone.
func (r *eventReader) fill() {
	rest := r.buf[r.start:]
	if cap(r.buf)-len(r.buf) < eventRoom || cap(r.buf) > eventBlock && len(rest) < eventRoom {
		r.buf, r.start = append(make([]byte, 0, r.blockFor(len(rest))), rest...), 0
	}
	n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
}

// blockFor grows in large steps: what is copied on the way to a large event
// stays behind as garbage, and what is not written to takes no memory.
func (r *eventReader) blockFor(rest int) int {
	if rest < eventRoom {
		return eventBlock
	}
	size := 8*rest + eventBlock
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
