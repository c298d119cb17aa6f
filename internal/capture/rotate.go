package capture

import (
	"cmp"
	"fmt"
	"io"
	"os"
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

// A Carry writes the lines of a part, by its path, that the next part repeats, and returns their number. All of them are
// in the spans, which begin with the part's head.
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
	old, t := r.run, r.rec.Rotation
	r.size = 0
	next, run, err := r.rec.Open()
	if err != nil {
		return
	}
	first := cmp.Or(r.first, old)
	r.run = run
	head := r.head()
	head.After = old
	head.First = first
	beginning, err := t.begin(next, head, r.unsettled.lines())
	if err != nil {
		next.Close()
		os.Remove(t.Ring.Path(run))
		r.run = old
		return
	}
	_, _ = fmt.Fprintf(r.file, "{\"next\":%d}\n", run)
	r.file.Close()
	r.file = next
	r.first = first
	r.offset = beginning
	r.unsettled.begin(beginning)
	r.compressor.begin(t.Ring, old)
	if r.parts = append(r.parts, old); len(r.parts) >= t.Files {
		t.Ring.remove(r.parts[0])
		r.parts = r.parts[1:]
	}
}

// begin writes the beginning of the part that follows head.After, and returns its length.
func (t *Rotation) begin(w io.Writer, head Head, spans []Span) (int64, error) {
	counted := &counter{Writer: w}
	if _, err := counted.Write(AppendHead(nil, head)); err != nil {
		return 0, err
	}
	lines, err := t.Carry(counted, t.Ring.Path(head.After), spans)
	if err == nil {
		_, err = fmt.Fprintf(counted, "{\"carried\":%d}\n", lines)
	}
	return counted.bytes, err
}

type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}
