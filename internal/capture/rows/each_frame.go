package rows

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A FrameReader reads the frames of a capture in the order of the file, also those that
// belong to no row.
type FrameReader struct {
	capture *Capture
	offset  int64
	head    int
	marks   map[string]int
}

// A FramePlace is where a frame stands: the index of its run in Heads, and where its line
// begins in the file.
type FramePlace struct {
	Run int
	At  int64
}

// FrameReader reads from the beginning.
func (c *Capture) FrameReader() *FrameReader {
	return &FrameReader{capture: c, head: -1, marks: map[string]int{}}
}

// Restart reads from the beginning.
func (r *FrameReader) Restart() *FrameReader { return r.capture.FrameReader() }

// Behind reports that the capture has been read further than its frames were.
func (r *FrameReader) Behind() bool { return r.offset < r.capture.progress.offset }

// Each reads on from where the last call ended, as far as Open or Refresh has read. An error
// of look ends it.
func (r *FrameReader) Each(look func(at FramePlace, f wire.Frame) error) error {
	f, err := r.capture.openVerified(r.offset)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := newLineReader(f)
	lines.offset = r.offset
	for r.Behind() {
		raw, at, err := lines.rawLine()
		if errors.Is(err, io.EOF) || at >= r.capture.progress.offset {
			r.offset = r.capture.progress.offset
			return nil
		}
		if err != nil {
			return err
		}
		r.offset = lines.offset
		run, frame := r.frameIn(raw)
		if frame == nil {
			continue
		}
		if err := look(FramePlace{run, at}, *frame); err != nil {
			return err
		}
	}
	return nil
}

// frameIn is the frame of a line with the index of its run; nil where it has none.
func (r *FrameReader) frameIn(raw []byte) (run int, frame *wire.Frame) {
	if len(raw) >= capture.LongFrame { // which is decoded in place
		raw = bytes.Clone(raw)
	}
	line, err := capture.ParseLine(raw)
	if err != nil {
		return 0, nil // Findings has it
	}
	if line.Head != nil {
		r.head++
		r.marks[line.In] = r.head
	}
	run = r.head
	known := r.head >= 0
	if line.In != "" {
		run, known = r.marks[line.In]
	}
	if line.Frame == nil || !known {
		return 0, nil
	}
	if secrets := r.capture.secrets; secrets != nil {
		safe := secrets.Frame(*line.Frame)
		return run, &safe
	}
	return run, line.Frame
}

// EachFrame reads all frames of the capture with the index of their run in Heads.
func (c *Capture) EachFrame(look func(head int, f wire.Frame) error) error {
	return c.FrameReader().Each(func(at FramePlace, f wire.Frame) error { return look(at.Run, f) })
}

// RunIndex is the index in Heads of the run that the row belongs to.
func (r *Row) RunIndex() int { return r.head }

// Capture is the one that the row belongs to.
func (r *Row) Capture() *Capture { return r.capture }

// Lines are where the lines of the row begin in the file, without those of messages that
// perhaps belong to another one.
func (r *Row) Lines() iter.Seq[int64] {
	return func(yield func(at int64) bool) {
		for l := range r.lines.all() {
			if !l.guess && !yield(l.at) {
				return
			}
		}
	}
}

// RunEnded reports that the recording of a run, by its index in Heads, has its end: what it
// lacks did not come. A run that goes on in another part has none, nor has one whose recorder
// was killed.
func (c *Capture) RunEnded(run int) bool {
	_, ended := c.endSpans[run]
	return ended
}
