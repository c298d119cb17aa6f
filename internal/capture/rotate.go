package capture

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"mcpc/internal/exchange"
	"mcpc/internal/wire"
)

// A recording that lasts for days is kept in parts, each a run of its own in the ring.
// A part begins with what is still going on, repeated from the one before: the frames
// of exchanges that wait for their answer or were cancelled, and how conversations and
// streams of HTTP+SSE were opened. So each
// part can be read alone, and an exchange is listed once, where it ended.

// Rotation bounds such a recording. Its zero value is one file without an end.
type Rotation struct {
	Ring *Ring
	// Bytes is how long a part may be before the next is begun, and Files how many
	// are kept, of which the oldest goes first.
	Bytes int64
	Files int
	Carry Carry
}

// A Carry writes the lines of a part, by its path, that the next part repeats, and returns their number. All
// of them are in the spans, which begin with the part's head.
type Carry func(w io.Writer, part string, spans []Span) (lines int, err error)

const (
	partBytes = 32 << 20
	maxParts  = 8
)

// Rotation returns the rotation of a recording in the ring.
func (r *Ring) Rotation(carry Carry) Rotation {
	return Rotation{Ring: r, Bytes: partBytes, Files: maxParts, Carry: carry}
}

// rotateLocked begins the next part. If that fails the part goes on as long again.
func (r *Recorder) rotateLocked() {
	oldRun := r.run
	rotation := r.rec.Rotation
	r.size = 0
	nextFile, newRun, err := r.rec.Open()
	if err != nil {
		return
	}
	first := cmp.Or(r.first, oldRun)
	r.run = newRun
	head := r.head()
	head.After = oldRun
	head.First = first
	beginning, err := rotation.writeBeginning(nextFile, head, r.repeats.lines())
	if err != nil {
		nextFile.Close()
		os.Remove(rotation.Ring.Path(newRun))
		r.run = oldRun
		return
	}
	_, _ = fmt.Fprintf(r.file, "{\"next\":%d}\n", newRun)
	r.file.Close()
	r.file = nextFile
	r.first = first
	r.offset = beginning
	r.repeats.begin(beginning)
	r.compressor.begin(rotation.Ring, oldRun)
	r.parts = append(r.parts, oldRun)
	if len(r.parts) >= rotation.Files {
		rotation.Ring.remove(r.parts[0])
		r.parts = r.parts[1:]
	}
}

// begin writes the beginning of the part that follows head.After, and returns its length.
func (t *Rotation) writeBeginning(w io.Writer, head Head, spans []Span) (int64, error) {
	counted := &countingWriter{Writer: w}
	if _, err := counted.Write(AppendHead(nil, head)); err != nil {
		return 0, err
	}
	lines, err := t.Carry(counted, t.Ring.Path(head.After), spans)
	if err == nil {
		_, err = fmt.Fprintf(counted, "{\"carried\":%d}\n", lines)
	}
	return counted.bytes, err
}

type countingWriter struct {
	io.Writer
	bytes int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}

// A Span is the place of some lines in a file, in bytes.
type Span struct{ At, Length int64 }

// unsettled notes, while a part of a recording is written, the lines that decide what the next part repeats. It leaves
// out conversations that were one request with its answer on the same HTTP response: nothing of them is repeated, and
// no row of another conversation depends on them.
type repeatTracker struct {
	// conns are the conversations of the part, with nil for a conversation that is left out.
	conns map[int]*trackedConn
	// beginning is the length of the part's head and of the lines repeated from the part before.
	beginning int64
	// before is the highest number of a conversation in the parts before, last in this part as well.
	earlierConns, lastConn int
	// all is set if a conversation that was left out continued: all lines are needed then.
	all bool
	// message is the memory for one message, used again.
	message wire.Message
}

type trackedConn struct {
	lines []Span
	// next is the expected step of the only request, on this stream.
	next   step
	stream int
}

// A step is a frame of a conversation that is one request.
type step int

const (
	stepOther step = iota // the conversation is not one request
	stepRequestHead
	stepRequest
	stepHead
	stepAnswer
	stepEnd
	stepDone
)

// begin begins the next part.
func (u *repeatTracker) begin(beginning int64) {
	*u = repeatTracker{conns: map[int]*trackedConn{}, beginning: beginning, earlierConns: u.lastConn, lastConn: u.lastConn}
}

// add notes the line of a frame.
func (u *repeatTracker) add(f *wire.Frame, line Span) {
	if u.all {
		return
	}
	c, known := u.conns[f.Conn]
	if known && c == nil {
		u.all = true
		u.conns = nil
		return
	}
	if !known {
		c = &trackedConn{stream: f.Stream}
		if f.Conn > u.earlierConns {
			c.next = stepRequestHead
		}
		u.conns[f.Conn] = c
		u.lastConn = max(u.lastConn, f.Conn)
	}
	if n := len(c.lines); n > 0 && c.lines[n-1].At+c.lines[n-1].Length == line.At {
		c.lines[n-1].Length += line.Length
	} else {
		c.lines = append(c.lines, line)
	}
	c.next = u.nextStep(c, f)
	if c.next == stepDone {
		u.conns[f.Conn] = nil
	}
}

// after returns the step that follows a frame in its conversation.
func (u *repeatTracker) nextStep(c *trackedConn, f *wire.Frame) step {
	if f.Stream != c.stream || f.Stream == 0 || (c.next > stepRequest) != (f.Dir == wire.Received) {
		return stepOther
	}
	fits := false
	switch c.next {
	case stepRequestHead:
		fits = f.Kind == wire.Head && f.HTTP != nil
	case stepRequest:
		u.message.Parse(f.Raw)
		fits = f.Kind == wire.Body && u.message.Kind == wire.Request && !exchange.Opens(u.message.Method)
	case stepHead:
		fits = f.Kind == wire.Head && f.HTTP != nil && f.HTTP.Status == 200
	case stepAnswer:
		isPlainEvent := f.Kind == wire.Event && f.SSE != nil && f.SSE.ID == nil &&
			(f.SSE.Event == "" || f.SSE.Event == "message")
		if f.Kind != wire.Body && !isPlainEvent {
			return stepOther
		}
		u.message.Parse(f.Raw)
		switch u.message.Kind {
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

// lines returns the noted lines in the order of the file, with the beginning of the part.
func (u *repeatTracker) lines() []Span {
	if u.all {
		return []Span{{0, math.MaxInt64}}
	}
	lines := []Span{{0, u.beginning}}
	for _, c := range u.conns {
		if c != nil {
			lines = append(lines, c.lines...)
		}
	}
	slices.SortFunc(lines, func(a, b Span) int { return cmp.Compare(a.At, b.At) })
	return lines
}
