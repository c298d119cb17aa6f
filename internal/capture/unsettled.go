package capture

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// unsettled remembers, while a part of a recording is written, the lines that decide what the next
// part begins with: all but those of conversations that were one request, answered on its own
// HTTP response, of which nothing is repeated. Rows of different conversations do not depend on
// each other, so that these lines give what the whole part would.
type unsettled struct {
	// conns are the conversations of the part that have not come to their end, done has a bit for
	// each that has, by its number behind before.
	conns map[int]*unsettledConn
	done  []uint64
	// beginning is how many bytes the head has, with what was repeated from the part before.
	beginning int64
	// before is the highest number of a conversation in the parts before, last in this one as well.
	before, last int
	// all is set where a conversation went on behind what looked like its end.
	all bool
	// message is used again, and so is what conversations had that have come to their end.
	message wire.Message
	spare   []*unsettledConn
}

// An unsettledConn is a conversation with lines that the next part may begin with.
type unsettledConn struct {
	lines []span
	// next is the step that comes next in a conversation of one request, on this stream.
	next   step
	stream int
}

// A step is a frame of a conversation that is one request.
type step int

const (
	stepOther step = iota // it is another conversation
	stepRequestHead
	stepRequest
	stepHead
	stepAnswer
	stepEnd
	stepDone
)

// begin begins the next part.
func (u *unsettled) begin(beginning int64) {
	*u = unsettled{conns: map[int]*unsettledConn{}, beginning: beginning, before: u.last, last: u.last, spare: u.spare, done: u.done[:0]}
}

// add notes the line of a frame.
func (u *unsettled) add(f *wire.Frame, at span) {
	if u.all {
		return
	}
	c, there := u.conns[f.Conn]
	switch {
	case !there && u.isDone(f.Conn):
		u.all, u.conns = true, nil
		return
	case !there:
		c = u.newConn(f.Stream)
		if f.Conn > u.before {
			c.next = stepRequestHead
		}
		u.conns[f.Conn], u.last = c, max(u.last, f.Conn)
	}
	if n := len(c.lines); n > 0 && c.lines[n-1].at+int64(c.lines[n-1].length) == at.at {
		c.lines[n-1].length += at.length
	} else {
		c.lines = append(c.lines, at)
	}
	if c.next = u.after(c, f); c.next == stepDone {
		delete(u.conns, f.Conn)
		u.setDone(f.Conn)
		if cap(c.lines) <= mostSpareLines {
			u.spare = append(u.spare, c)
		}
	}
}

func (u *unsettled) isDone(conn int) bool {
	at := conn - u.before
	return at >= 0 && at/64 < len(u.done) && u.done[at/64]&(1<<(at%64)) != 0
}

// setDone notes the end of a conversation that began in this part.
func (u *unsettled) setDone(conn int) {
	at := conn - u.before
	for at/64 >= len(u.done) {
		u.done = append(u.done, 0)
	}
	u.done[at/64] |= 1 << (at % 64)
}

// mostSpareLines is how many lines a conversation has room for that is used again.
const mostSpareLines = 64

// newConn is a conversation on a stream, without lines.
func (u *unsettled) newConn(stream int) *unsettledConn {
	last := len(u.spare) - 1
	if last < 0 {
		return &unsettledConn{stream: stream}
	}
	c := u.spare[last]
	u.spare = u.spare[:last]
	*c = unsettledConn{lines: c.lines[:0], stream: stream}
	return c
}

// after is the step that follows a frame in its conversation.
func (u *unsettled) after(c *unsettledConn, f *wire.Frame) step {
	if c.next == stepOther || f.Stream != c.stream || f.Stream == 0 || (c.next > stepRequest) != (f.Dir == wire.Received) {
		return stepOther
	}
	fits := false
	switch c.next {
	case stepRequestHead:
		fits = f.Kind == wire.Head && f.HTTP != nil
	case stepRequest:
		fits = f.Kind == wire.Body && u.kind(f) == wire.Request && !exchange.Opens(u.message.Method)
	case stepHead:
		fits = f.Kind == wire.Head && f.HTTP != nil && f.HTTP.Status == 200
	case stepAnswer:
		if f.Kind != wire.Body && (f.Kind != wire.Event || f.SSE == nil || f.SSE.ID != nil || f.SSE.Event != "" && f.SSE.Event != "message") {
			return stepOther
		}
		switch u.kind(f) {
		case wire.Response, wire.ErrorResponse:
			fits = !bytes.Contains(f.Raw, []byte("input_required"))
		case wire.Notification:
			if m := u.message.Method; m == "notifications/progress" || m == "notifications/message" {
				return stepAnswer
			}
		}
	case stepEnd:
		fits = f.Kind == wire.Closed && f.Close != nil && f.Close.How == "end"
	}
	if !fits {
		return stepOther
	}
	return c.next + 1
}

func (u *unsettled) kind(f *wire.Frame) wire.MessageKind {
	u.message.Parse(f.Raw)
	return u.message.Kind
}

// lines are those that were noted, in their order, with the beginning of the part.
func (u *unsettled) lines() []span {
	if u.all {
		return []span{{0, math.MaxInt}}
	}
	all := []span{{0, int(u.beginning)}}
	for _, c := range u.conns {
		all = append(all, c.lines...)
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.at, b.at) })
	return all
}

// openOnly lists the rows of some lines of a capture, the first of which is its head.
func openOnly(path string, parts []span) (*Capture, error) {
	c := newCapture(path)
	f, err := c.from(0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, r, b := scanner{capture: c}, newLineReader(f), &batch{}
	for _, part := range parts {
		r.src.Reset(io.NewSectionReader(f, part.at, int64(part.length)))
		for r.offset = part.at; ; c.packOld() {
			raw, at, err := r.rawLine()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			l := batchLine{raw: raw, at: at, behind: r.offset, number: r.line, whole: true}
			b.texts, b.used = b.texts[:0], 0
			l.quick = b.quick(&l)
			if err := s.looked(&l); err != nil {
				return nil, err
			}
			c.offset = r.offset
		}
	}
	return c, s.orNone()
}
