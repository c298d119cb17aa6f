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

// A long recording is kept in parts, each a separate run in the ring. A part begins with lines
// repeated from the part before it: the frames of exchanges that wait for their response or were
// cancelled, and the frames that opened conversations and streams of HTTP+SSE. So each part can be
// read alone, and an exchange is listed once, in the part where it ended.

// Rotation bounds a recording that is kept in parts. The zero value keeps one file without a limit.
type Rotation struct {
	Ring *Ring
	// Bytes is the length at which a part is full.
	Bytes int64
	// Files is how many parts are kept. The oldest is deleted first.
	Files int
	// Carry writes the lines that the next part repeats.
	Carry Carry
}

// A Carry writes to w the lines of a part that the next part repeats, and returns their number.
// part is the path of the part. The spans contain all lines that may have to be repeated; the first
// span is the head.
type Carry func(w io.Writer, part string, spans []Span) (lines int, err error)

const (
	// partBytes is the length at which a part of a recording is full.
	partBytes = 32 << 20
	// maxParts is how many parts of a recording are kept.
	maxParts = 8
)

// Rotation returns the rotation of a recording in the ring.
func (r *Ring) Rotation(carry Carry) Rotation {
	return Rotation{Ring: r, Bytes: partBytes, Files: maxParts, Carry: carry}
}

// rotateLocked begins the next part. If that fails, the current part continues until it has grown
// by as much again. It deletes the oldest part if there are too many. r.writing is locked, and
// r.buf is empty.
func (r *Recorder) rotateLocked() {
	oldRun := r.run
	rotation := r.options.Rotation
	r.size = 0
	nextFile, newRun, err := r.options.Open()
	if err != nil {
		return
	}
	first := r.firstRun
	if first == 0 { // the current run began the recording
		first = oldRun
	}
	r.run = newRun
	head := r.head()
	head.PreviousRun = oldRun
	head.FirstRun = first
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
	r.firstRun = first
	r.offset = beginning
	r.repeats.begin(beginning)
	r.compressor.begin(rotation.Ring, oldRun)
	r.parts = append(r.parts, oldRun)
	if len(r.parts) >= rotation.Files {
		rotation.Ring.remove(r.parts[0])
		r.parts = r.parts[1:]
	}
}

// writeBeginning writes the head and the repeated lines of the part that follows head.PreviousRun,
// and returns their length in bytes. The spans are the lines that Carry chooses from.
func (r *Rotation) writeBeginning(w io.Writer, head Head, spans []Span) (int64, error) {
	counted := &countingWriter{Writer: w}
	if _, err := counted.Write(AppendHead(nil, head)); err != nil {
		return 0, err
	}
	lines, err := r.Carry(counted, r.Ring.Path(head.PreviousRun), spans)
	if err == nil {
		_, err = fmt.Fprintf(counted, "{\"carried\":%d}\n", lines)
	}
	return counted.bytes, err
}

// A countingWriter counts the bytes that are written to it.
type countingWriter struct {
	io.Writer
	bytes int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}

// A Span is the place of some consecutive lines in a file, in bytes.
type Span struct{ Offset, Length int64 }

// A repeatTracker notes the lines that the next part may have to repeat, while a part of a
// recording is written; Carry chooses from them. It leaves out conversations of one HTTP request
// and its response: they are complete, and no other row depends on them.
type repeatTracker struct {
	// conns are the conversations of the part; a conversation that is left out is nil.
	conns map[int]*trackedConn
	// beginning is the length of the part's head and of the lines repeated from the part before.
	beginning int64
	// earlierConns is the highest number of a conversation in the earlier parts.
	earlierConns int
	// lastConn is the highest number of a conversation so far.
	lastConn int
	// needsAll is set if a conversation that was left out continued: all lines are needed then.
	needsAll bool
	// message is reused for every message that is parsed.
	message wire.Message
}

// A trackedConn holds the lines of a conversation and how far it is the single request that may be
// left out.
type trackedConn struct {
	lines []Span
	// expected is the step that the next frame of the request has to be.
	expected step
	// stream is the stream of the request.
	stream int
}

// A step is the position of a frame in a conversation that consists of one request.
type step int

const (
	stepOther step = iota // the conversation is not a single request
	stepRequestHead
	stepRequest
	stepHead
	stepAnswer
	stepEnd
	stepDone
)

// begin forgets the lines of the last part. beginning is the length of the next part's head and
// repeated lines.
func (u *repeatTracker) begin(beginning int64) {
	*u = repeatTracker{conns: map[int]*trackedConn{}, beginning: beginning, earlierConns: u.lastConn, lastConn: u.lastConn}
}

// add notes the line of a frame.
func (u *repeatTracker) add(f *wire.Frame, line Span) {
	if u.needsAll {
		return
	}
	c, known := u.conns[f.Conn]
	if known && c == nil { // the conversation was left out, and continues
		u.needsAll = true
		u.conns = nil
		return
	}
	if !known {
		c = &trackedConn{stream: f.Stream}
		if f.Conn > u.earlierConns { // the conversation began in this part
			c.expected = stepRequestHead
		}
		u.conns[f.Conn] = c
		u.lastConn = max(u.lastConn, f.Conn)
	}
	// A line that follows the last one extends its span.
	if n := len(c.lines); n > 0 && c.lines[n-1].Offset+c.lines[n-1].Length == line.Offset {
		c.lines[n-1].Length += line.Length
	} else {
		c.lines = append(c.lines, line)
	}
	c.expected = u.nextStep(c, f)
	if c.expected == stepDone {
		u.conns[f.Conn] = nil
	}
}

// nextStep returns the step that has to follow a frame in its conversation, or stepOther if the
// conversation is not a single request and its response. Only a plain JSON-RPC exchange over HTTP
// with status 200 is one: the next part may depend on anything else.
func (u *repeatTracker) nextStep(c *trackedConn, f *wire.Frame) step {
	isReceived := f.Dir == wire.Received
	expectsReceived := c.expected > stepRequest
	if f.Stream != c.stream || f.Stream == 0 || isReceived != expectsReceived {
		return stepOther
	}
	fits := false
	switch c.expected {
	case stepRequestHead:
		fits = f.Kind == wire.Head && f.HTTP != nil
	case stepRequest:
		u.message.Parse(f.Raw)
		// A request that opens a session begins a conversation of several.
		fits = f.Kind == wire.Body && u.message.Kind == wire.Request && !exchange.IsOpeningMethod(u.message.Method)
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
			fits = !bytes.Contains(f.Raw, []byte("input_required")) // the client sends the request again
		case wire.Notification:
			if m := u.message.Method; m == "notifications/progress" || m == "notifications/message" {
				return stepAnswer // they do not end the exchange
			}
		}
	case stepEnd:
		fits = f.Kind == wire.Closed && f.Close != nil && f.Close.How == "end"
	}
	if !fits {
		return stepOther
	}
	return c.expected + 1
}

// lines returns the noted lines in the order of the file. The beginning of the part comes first. If
// all lines may be needed, it returns one span for the whole file.
func (u *repeatTracker) lines() []Span {
	if u.needsAll {
		return []Span{{0, math.MaxInt64}}
	}
	lines := []Span{{0, u.beginning}}
	for _, c := range u.conns {
		if c != nil {
			lines = append(lines, c.lines...)
		}
	}
	slices.SortFunc(lines, func(a, b Span) int { return cmp.Compare(a.Offset, b.Offset) })
	return lines
}
