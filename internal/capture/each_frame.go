package capture

import (
	"bytes"
	"errors"
	"io"
	"os"

	"mcpc/internal/wire"
)

// EachFrame reads all frames of the capture in the order of the file, with the index of
// their run in Heads, also those that belong to no row. An error of look ends it.
func (c *Capture) EachFrame(look func(head int, f wire.Frame) error) error {
	f, err := os.Open(c.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := newLineReader(f)
	begun, marks := -1, map[string]int{}
	for {
		raw, _, err := r.rawLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(raw) >= longFrame { // which is decoded in place
			raw = bytes.Clone(raw)
		}
		line, err := parseLong(raw)
		if err != nil {
			continue // Findings has it
		}
		if line.Head != nil {
			begun++
			marks[line.In] = begun
		}
		head, known := begun, begun >= 0
		if line.In != "" {
			head, known = marks[line.In]
		}
		if line.Frame == nil || !known {
			continue
		}
		frame := *line.Frame
		if c.secrets != nil {
			frame = c.secrets.Frame(frame)
		}
		if err := look(head, frame); err != nil {
			return err
		}
	}
}

// RunIndex is the index in Heads of the run that the row belongs to.
func (r *Row) RunIndex() int { return r.head }
