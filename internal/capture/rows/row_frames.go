package rows

import (
	"bytes"
	"cmp"
	"slices"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// Frames reads the frames of a row, in the order in which they crossed; nil where
// nothing did.
func (r *Row) Frames() ([]wire.Frame, error) {
	frames := make([]wire.Frame, 0, r.lines.count())
	err := r.EachFrame(func(f wire.Frame) error {
		frames = append(frames, f)
		return nil
	})
	return frames, err
}

// EachFrame reads the frames of a row one after the other, as Frames does.
func (r *Row) EachFrame(look func(wire.Frame) error) error {
	return r.eachLine(func(raw []byte) error {
		frame, err := r.frameIn(raw)
		if err != nil || frame == nil {
			return err
		}
		return look(*frame)
	})
}

// frameIn parses the frame of a capture line and hides all secrets known so far. It returns
// nil if the line has no frame.
func (r *Row) frameIn(raw []byte) (*wire.Frame, error) {
	line, err := capture.ParseLine(raw) // the memory of a long line is used by no other
	if err == nil && line.Frame != nil && r.capture.secrets != nil {
		*line.Frame = r.capture.secrets.Frame(*line.Frame)
	}
	return line.Frame, err
}

// Exchange reads the row's exchange with its frames; nil where nothing crossed.
func (r *Row) Exchange() (*wire.Exchange, error) {
	if !r.HTTPOnly {
		return r.exchange()
	}
	frames, err := r.Frames()
	return httpOnlyExchange(frames), err
}

// AnyText reports whether match accepts the bytes of a frame of the row. It asks mayHold first, of the line of the
// capture, and does not decode a line that mayHold refuses.
func (r *Row) AnyText(mayHold, match func([]byte) bool) (found bool, err error) {
	if r.capture == nil {
		return false, nil
	}
	lines := r.spans()
	if len(lines) == 0 {
		return false, nil
	}
	buf := lineBuffers.Get().(*[]byte)
	defer lineBuffers.Put(buf)
	err = r.capture.eachLine(lines, func(raw []byte) error {
		raw = bytes.TrimRight(raw, "\r\n")
		if found || !mayHold(raw) {
			return nil
		}
		if body, ok := capture.BytesIn(raw, *buf); ok {
			found = match(body)
			if *buf = body; cap(body) > keepBuffer || body == nil {
				*buf = nil
			}
			return nil
		}
		line, err := capture.ParseLine(raw)
		found = err == nil && line.Frame != nil && match(line.Frame.Raw)
		return err
	})
	return found, err
}

// AnyLine reports whether match accepts a line of the row as it is in the capture, the
// lines of heads included.
func (r *Row) AnyLine(match func([]byte) bool) (found bool, err error) {
	err = r.eachLine(func(raw []byte) error {
		found = found || match(raw)
		return nil
	})
	return found, err
}

// eachLine reads the row's lines from the file; raw is good during the call only.
func (r *Row) eachLine(look func(raw []byte) error) error {
	if r.capture == nil {
		return nil
	}
	return r.capture.eachLine(r.spans(), func(raw []byte) error { return look(bytes.TrimRight(raw, "\r\n")) })
}

// exchange is put together from the row's frames; nil where nothing crossed.
func (r *Row) exchange() (*wire.Exchange, error) {
	lines := slices.Collect(r.lines.all())
	slices.SortStableFunc(lines, func(a, b rowLine) int { return cmp.Compare(a.at, b.at) })
	var x *wire.Exchange
	next := 0
	err := r.eachLine(func(raw []byte) error {
		line, err := r.frameIn(raw)
		if err != nil {
			return err
		}
		for at := lines[min(next, len(lines)-1)].at; next < len(lines) && lines[next].at == at; next++ {
			if line == nil {
				continue
			}
			frame, place := *line, lines[next].place()
			if place.Item >= 0 {
				frame.Raw = itemOf(frame.Raw, place.Item)
			}
			if x == nil {
				x = &wire.Exchange{}
			}
			x.Add(frame, place)
		}
		return nil
	})
	return x, err
}

// itemOf is a message of a batch.
func itemOf(batch []byte, item int) []byte {
	items := wire.ParseMessage(batch).Items
	if item >= len(items) {
		return nil
	}
	return items[item].Raw
}
