package rows

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A FrameReader reads all frames of a capture in the order of the file, including the frames that
// belong to no row.
type FrameReader struct {
	capture *Capture
	offset  int64
	head    int
	marks   map[string]int
}

// A FramePlace is the place of a frame: the index of its run in Heads and the offset of its line.
type FramePlace struct {
	RunIndex int
	Offset   int64
}

// FrameReader returns a reader that begins at the first frame.
func (c *Capture) FrameReader() *FrameReader {
	return &FrameReader{capture: c, head: -1, marks: map[string]int{}}
}

// Restart returns a reader that begins at the first frame.
func (r *FrameReader) Restart() *FrameReader { return r.capture.FrameReader() }

// IsBehind reports whether the capture has been read further than this reader.
func (r *FrameReader) IsBehind() bool { return r.offset < r.capture.progress.offset }

// Each calls visit for the frames that follow the last call's, as far as the capture has been read.
// It stops at an error of visit and returns it; the next call continues after that frame.
func (r *FrameReader) Each(visit func(at FramePlace, f wire.Frame) error) error {
	f, err := r.capture.openVerified(r.offset)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := newLineReader(f)
	lines.offset = r.offset
	for r.IsBehind() {
		raw, at, err := lines.nextLine()
		// The file may have grown since the capture was read.
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
		if err := visit(FramePlace{run, at}, *frame); err != nil {
			return err
		}
	}
	return nil
}

// frameIn returns the frame of a line, without secrets, and the index of its run. It returns nil if
// the line has no frame, or if the head of its run is missing.
func (r *FrameReader) frameIn(raw []byte) (run int, frame *wire.Frame) {
	if len(raw) >= capture.LongFrame { // ParseLine overwrites it
		raw = bytes.Clone(raw)
	}
	line, err := capture.ParseLine(raw)
	if err != nil {
		return 0, nil // the Findings of the capture report it
	}
	if line.Head != nil {
		r.head++
		r.marks[line.Mark] = r.head
	}
	run = r.head
	known := r.head >= 0
	if line.Mark != "" {
		run, known = r.marks[line.Mark]
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

// EachFrame calls look for all frames of the capture, with the index of their run in Heads.
func (c *Capture) EachFrame(look func(head int, f wire.Frame) error) error {
	return c.FrameReader().Each(func(at FramePlace, f wire.Frame) error { return look(at.RunIndex, f) })
}

// RunIndex returns the index in Heads of the row's run.
func (r *Row) RunIndex() int { return r.headIndex }

// Capture returns the capture of the row.
func (r *Row) Capture() *Capture { return r.capture }

// Lines returns the offsets of the row's lines, without messages that perhaps belong to another
// row.
func (r *Row) Lines() iter.Seq[int64] {
	return func(yield func(at int64) bool) {
		for l := range r.lines.all() {
			if !l.guess && !yield(l.offset) {
				return
			}
		}
	}
}

// Places returns the offset of each of the row's lines with the place of its frame in the exchange. A batch
// has a place for each of its messages.
func (r *Row) Places() iter.Seq2[int64, wire.Place] {
	return func(yield func(offset int64, place wire.Place) bool) {
		for l := range r.lines.all() {
			if !yield(l.offset, l.place()) {
				return
			}
		}
	}
}

// RunEnded reports whether a run, given by its index in Heads, has an End. A run that continues in
// another part has no End, and neither has a run whose recorder was killed.
func (c *Capture) RunEnded(run int) bool {
	_, ended := c.endSpans[run]
	return ended
}
